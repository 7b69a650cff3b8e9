import Crypto
import NATS
import Testing

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
