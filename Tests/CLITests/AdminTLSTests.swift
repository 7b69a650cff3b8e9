import Configuration
import HTTP
import Net
import System
import TestSupport
import Testing

@testable import CLI

/// How a command knows the gateway, and what it says when it does not.
@Suite(.timeLimit(.minutes(10))) struct AdminTLSTests {
    private static let made = SecureListener.made
    private static let authority = SecureListener.authority

    @Test("The configured certificate is known by its key, whatever names it has")
    func pinned() throws {
        let listener = try SecureListener("exact")
        let own = AdminTLS(.certificate(file: Self.made.certificate("exact")))
        #expect(listener.heard(own) == "here")
        // Of the same authority, and not the same.
        let other = AdminTLS(.certificate(file: Self.made.certificate("server")))
        #expect(listener.heard(other).contains("has another certificate than "))
        let gone = AdminTLS(.certificate(file: "/nowhere"))
        #expect(listener.heard(gone).contains("/nowhere cannot be read: No such file or directory"))
    }

    @Test("With an authority the certificate must be of it and have the right name")
    func authority() throws {
        let listener = try SecureListener("server")
        let known = AdminTLS(.authorities(file: Self.authority))
        #expect(listener.heard(known) == "here")
        #expect(listener.heard(known, as: "localhost") == "here")
        let stranger = AdminTLS(.authorities(file: Self.made.certificate("stranger")))
        #expect(listener.heard(stranger).contains("was not signed by an authority in "))
        #expect(listener.heard(AdminTLS(.system)).contains("name the authority's certificate with"))
        let elsewhere = try SecureListener("exact")
        #expect(elsewhere.heard(known).contains("is for another name"))
        let missing = AdminTLS(.authorities(file: "/nowhere"))
        #expect(listener.heard(missing).hasPrefix("/nowhere cannot be read: "))
        let noCertificate = AdminTLS(.authorities(file: Self.made.key("server")))
        #expect(
            listener.heard(noCertificate).hasPrefix(
                "the file of trusted certificates cannot be read"
            )
        )
    }

    @Test(
        "A certificate that the gateway asks for is shown, and a missing or wrong one is told of",
        arguments: [AdminRequest.Method.get, .post]
    )
    func mutual(method: AdminRequest.Method) throws {
        let listener = try SecureListener("server", clients: .required(authorities: Self.authority))
        var tls = AdminTLS(.authorities(file: Self.authority))
        let missing = listener.heard(tls, by: method)
        #expect(missing.contains("requires a client certificate; set it"), "\(missing)")
        tls.certificate = Self.made.files("client")
        #expect(listener.heard(tls, by: method) == "dns:phone-7.example.com")
        tls.certificate = Self.made.files("wrong-client")
        let wrong = listener.heard(tls, by: method)
        #expect(wrong.contains("refuses the client certificate"), "\(wrong)")
        tls.certificate?.keyFile = Self.made.key("client")
        #expect(listener.heard(tls, by: method).contains("client certificate cannot be used"))
        tls.certificate?.keyFile = "/nowhere"
        #expect(listener.heard(tls, by: method).hasPrefix("/nowhere cannot be read: "))
    }

    @Test("TLS where there is none, and none where there is, are told apart from nobody")
    func mismatch() throws {
        let plain = try SecureListener(nil)
        #expect(plain.heard(nil) == "here")
        #expect(
            plain.heard(AdminTLS(.system)).contains(
                "does not speak TLS; use --admin-listen http://"
            )
        )
        let secure = try SecureListener("server")
        let said = secure.heard(nil)
        #expect(said.contains("does not answer in plain HTTP"), "\(said)")
        #expect(said.contains("--admin-listen https://127.0.0.1:"), "\(said)")
    }
}

/// A listener that says "here", with or without TLS.
final class SecureListener {
    static let made = TestCertificates.shared
    static let authority = made.certificate("authority")

    private final class Handler: RequestHandler {
        func admit(_ head: RequestHead) -> Admission { .accept(bodyBytesMax: 100) }

        func handle(
            _ head: RequestHead,
            _ admitted: Admitted?,
            body: UnsafeRawBufferPointer,
            responder: Responder
        ) {
            responder.send(Self.answer(200, head.peer.clientName ?? "here"))
        }

        func answer(
            to problem: RequestProblem,
            head: RequestHead?,
            _ admitted: Admitted?
        ) -> Response {
            Self.answer(400, problem.reason)
        }

        private static func answer(_ status: Int, _ text: String) -> Response {
            Response(status: status, contentType: "text/plain; charset=utf-8", text: text)
        }

        func stamp(_ fields: inout [UInt8], of response: Response) {}
    }

    private let server: HTTPServer

    /// `name` is whose certificate it shows; nil speaks plain HTTP.
    init(
        _ name: String?,
        clients: TLSSettings.ClientCertificates = .none
    ) throws {
        let context = try name.map {
            try TLSContext(
                TLSSettings(certificates: [Self.made.files($0)], clientCertificates: clients)
            )
        }
        server = try HTTPServer(
            .init(
                listen: ListenAddress(host: "127.0.0.1", port: 0),
                loops: 1,
                tls: context,
                journal: .silent
            )
        ) { Handler() }
    }

    deinit { server.stop(within: .zero) }

    /// What a command that asks hears: the answer, or why there is none.
    func heard(
        _ tls: AdminTLS?,
        as host: String? = nil,
        by method: AdminRequest.Method = .get
    ) -> String {
        let address = ListenAddress(host: host ?? "127.0.0.1", port: server.address.port)
        let client = AdminClient(
            AdminAccess(address: address, token: nil, tls: tls),
            patience: .seconds(20)
        )
        do throws(AdminClient.Unreachable) {
            return try client.ask(AdminRequest(method, "/admin/status")).text
        } catch {
            return error.description
        }
    }
}
