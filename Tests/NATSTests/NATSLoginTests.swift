import Crypto
import NATS
import System
import TestNATS
import TestSupport
import Testing

/// Logins to a real server, right and wrong.
@Suite(.timeLimit(.minutes(10))) final class NATSLoginTests {
    let recorder = JournalRecorder()
    let directory = TemporaryDirectory()
    var broker: Broker?

    static let violation = "the server refused the login: Authorization Violation"
    private static let fixtures = repositoryFile("Tests/NATSTests/Fixtures")

    private func start(_ lines: String) throws -> NATSServerAddress {
        let broker = try Broker.started(lines)
        self.broker = broker
        return broker.address
    }

    private func client(
        _ address: NATSServerAddress,
        _ login: NATSSettings.Authentication
    ) throws -> NATSClient {
        let settings = NATSSettings(servers: [address], authentication: login, name: "test")
        return try NATSClient(settings, journal: recorder.journal)
    }

    /// nil: the login succeeded, and a message came back.
    private func failure(
        _ address: NATSServerAddress,
        _ authentication: NATSSettings.Authentication
    ) throws -> NATSError? {
        let client = try client(address, authentication)
        do throws(NATSError) {
            try client.waitUntilConnected(atMost: .seconds(20))
            let inbox = try client.inbox()
            try client.send(OutgoingMessage(to: inbox.subject, body: [1]), from: inbox)
            #expect(try inbox.next(until: .now + .seconds(20)).body == [1])
            return nil
        } catch {
            return error
        }
    }

    private func refused(_ address: NATSServerAddress, _ text: String) -> NATSError {
        NATSError(.refused, "\(address): \(text)")
    }

    @Test("Name and password, right, wrong and missing")
    func user() throws {
        let address = try start("authorization { user: gateway, password: right-one }")
        #expect(try failure(address, .user("gateway", password: Secret("right-one"))) == nil)
        let wrong = refused(address, Self.violation)
        #expect(try failure(address, .user("gateway", password: Secret("wrong-one"))) == wrong)
        #expect(try failure(address, .user("other", password: Secret("right-one"))) == wrong)
        #expect(try failure(address, .token(Secret("right-one"))) == wrong)
        #expect(try failure(address, .none) == wrong)
        #expect(!recorder.text.contains("wrong-one") && !recorder.text.contains("right-one"))
        #expect(recorder.lines(containing: Self.violation).count == 4)
    }

    @Test("A password may hold any characters")
    func characters() throws {
        let address = try start(#"authorization { user: "a b", password: "q\"\\ü\t'" }"#)
        #expect(try failure(address, .user("a b", password: Secret("q\"\\ü\t'"))) == nil)
    }

    @Test("A token, right and wrong; a key that the server does not ask for")
    func token() throws {
        let address = try start("authorization { token: right-one }")
        #expect(try failure(address, .token(Secret("right-one"))) == nil)
        #expect(
            try failure(address, .token(Secret("wrong-one"))) == refused(address, Self.violation)
        )
        let file = directory.file("seed", UserKeyTests.vectors[0].seed)
        let text =
            "the server does not ask for a signature; its configuration has no user with the key in "
        #expect(try failure(address, .seed(file: file)) == refused(address, text + file))
        #expect(!recorder.text.contains("-one"))
    }

    @Test("A seed whose signature the server verifies, a wrong one, and files without one")
    func seed() throws {
        let vectors = UserKeyTests.vectors
        let address = try start("authorization { users: [ { nkey: \(vectors[0].publicKey) } ] }")
        let right = directory.file("right", "  \(vectors[0].seed)\r\n")
        #expect(try failure(address, .seed(file: right)) == nil)
        let wrong = directory.file("wrong", vectors[1].seed)
        #expect(try failure(address, .seed(file: wrong)) == refused(address, Self.violation))
        for (name, content) in [
            ("public", vectors[0].publicKey), ("cut", String(vectors[0].seed.dropLast())),
            ("empty", ""), ("lower", vectors[0].seed.lowercased()),
        ] {
            let file = directory.file(name, content)
            let text = "\(file) holds no seed of a user's key (SU…)"
            #expect(try failure(address, .seed(file: file)) == refused(address, text))
        }
        let missing = "\(directory.path)/missing"
        let error = try failure(address, .seed(file: missing))
        #expect(error?.kind == .refused)
        #expect(error?.description.hasPrefix("\(address): \(missing) cannot be read: ") == true)
        for vector in vectors { #expect(!recorder.text.contains(vector.seed.dropFirst(4))) }
    }

    @Test("A file is read for each connection, so it can be replaced")
    func rotation() throws {
        let vectors = UserKeyTests.vectors
        let address = try start("authorization { users: [ { nkey: \(vectors[0].publicKey) } ] }")
        let file = directory.file("seed", vectors[1].seed)
        let client = try client(address, .seed(file: file))
        let error = #expect(throws: NATSError.self) {
            try client.waitUntilConnected(atMost: .seconds(20))
        }
        #expect(error == refused(address, Self.violation))
        directory.file("seed", vectors[0].seed)
        #expect(eventually { if case .connected = client.state { true } else { false } })
    }

    @Test("A credentials file of an operator's account, one of another account, and damaged ones")
    func credentials() throws {
        let account = "AAIZ4MDTZBJPJDAAACVEQGGAYEP27YP2CWIKLBL743YE65X5VAL7VK4M"
        let token = String(decoding: readFile("\(Self.fixtures)/account.jwt"), as: UTF8.self)
        let address = try start(
            """
            operator: "\(Self.fixtures)/operator.jwt"
            resolver: MEMORY
            resolver_preload: { \(account): "\(token.prefix { $0 != "\n" })" }
            """
        )
        let right = "\(Self.fixtures)/user.creds"
        #expect(try failure(address, .credentials(file: right)) == nil)
        let stranger = "\(Self.fixtures)/stranger.creds"
        #expect(
            try failure(address, .credentials(file: stranger)) == refused(address, Self.violation)
        )

        let text = String(decoding: readFile(right), as: UTF8.self)
        let windows = directory.file(
            "windows",
            text.split(separator: "\n").joined(separator: "\r\n")
        )
        #expect(try failure(address, .credentials(file: windows)) == nil)
        for (name, content) in [
            ("empty", ""), ("seed", UserKeyTests.vectors[0].seed),
            ("half", String(text.prefix(300))),
            ("cut", "-----BEGIN NATS USER JWT-----\n"),
        ] {
            let file = directory.file(name, content)
            let hint =
                "\(file) is not a credentials file of NATS, with a user's JWT and seed; "
                + "make one with: nsc generate creds"
            #expect(try failure(address, .credentials(file: file)) == refused(address, hint))
        }
        let other = try #require(text.split(separator: "\n").first { $0.hasPrefix("SU") })
        let file = directory.file(
            "other",
            text.replacing(other, with: UserKeyTests.vectors[0].seed)
        )
        #expect(try failure(address, .credentials(file: file)) == refused(address, Self.violation))
        #expect(!recorder.text.contains(other) && !recorder.text.contains("eyJ"))
    }
}

/// Users' keys of NATS. The vectors were made with the nkeys package of PyPI (0.2.1).
@Suite struct UserKeyTests {
    struct Vector: Sendable {
        let seed: String
        let publicKey: String
        let signature: String
    }

    private static let nonce = "PXoWU7zWAMt75FY"
    private static let seed = vectors[0].seed

    static let vectors = [
        Vector(
            seed: "SUAILKXGYDFIMVXSSTWAHTX4ENTL4MYSMLFARX4OIFDFX2DTXGQHIHBG64",
            publicKey: "UAH6NEE65ZTJ3ECJU4G3SS3YTSCGK2MKBOWAL5QUYHDL2WWMNSK2F6IZ",
            signature:
                "sn4qOnRdj79Dep68pmFqMP8HfScBxr352SvAtp2dCGtv5cEnBFT0lGBTf1O-GvddYZyzceolnxKJi84B9zZaCw"
        ),
        Vector(
            seed: "SUAP5G2QXAKS5K56GWXTFAIDLFOEHYPPORBRJLXBLD4VZCWGHUKFBSERV4",
            publicKey: "UBZJ5UEK5KPZI65H4GJMK2GVRHGVB3Y4L6XIOWKDU764QAMJS7P3RTFM",
            signature:
                "-mH0lXsUwhWzOyEt0v7lTBJ4pkkZNG_tGcCK04FKoQ1-8POX0CtbSlwkl-qczbt2pCRRpsOpiTtX69sKAVUIAw"
        ),
        Vector(
            seed: "SUAM4OWM3Z2Q6DWRQKTZULYNVV5IMMQ422QECJMSLK6GRDIXR4ZNA4PT7A",
            publicKey: "UBKHAKIPN5BE6SXHJJD7Y5VXU7DG3PES4ZWRTSWIXWJJIQOGW6R4OX3K",
            signature:
                "USmkuCOeLI3c3MdoEHUUe9DfoFpHPvLi4WzLZ7BFF4Yeto5rBl6RAcOZyTX2hyjxnGM_KTnN3oqF6eyQY87HDw"
        ),
    ]

    @Test("A seed has its public key and signatures", arguments: vectors)
    func known(vector: Vector) throws {
        let key = try #require(UserKey(seed: Secret(vector.seed)))
        #expect(key.publicKey == vector.publicKey)
        #expect(key.signature(of: Self.nonce) == vector.signature)
        #expect(key.signature(of: "") != nil)
        #expect(!"\(key)".contains(vector.seed) && !String(reflecting: key).contains(vector.seed))
    }

    @Test("A seed with one other character is refused")
    func checksum() {
        let characters = Array(Self.seed)
        for place in characters.indices.dropLast() {
            var other = characters
            other[place] = other[place] == "A" ? "B" : "A"
            #expect(UserKey(seed: Secret(String(other))) == nil, "at \(place)")
        }
    }

    @Test(
        "What is not the seed of a user is refused",
        arguments: [
            "", "S", "SU", seed.lowercased(), " \(seed)", "\(seed) ", "\(seed)\n",
            String(seed.dropLast()), String(seed.dropFirst()), seed + "A", seed + "=", seed + seed,
            vectors[0].publicKey, String(repeating: "A", count: 58),
            // Seeds of an account, an operator, a server and a cluster.
            "SAAILKXGYDFIMVXSSTWAHTX4ENTL4MYSMLFARX4OIFDFX2DTXGQHIHGVHM",
            "SOAILKXGYDFIMVXSSTWAHTX4ENTL4MYSMLFARX4OIFDFX2DTXGQHIHEZJE",
            "SNAILKXGYDFIMVXSSTWAHTX4ENTL4MYSMLFARX4OIFDFX2DTXGQHIHE25Q",
            "SCAILKXGYDFIMVXSSTWAHTX4ENTL4MYSMLFARX4OIFDFX2DTXGQHIHGX7U",
        ]
    )
    func others(text: String) {
        #expect(UserKey(seed: Secret(text)) == nil)
    }
}
