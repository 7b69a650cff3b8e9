import Crypto
package import HTTP
import Net
import System
import TestSupport

/// An issuer of tokens: a key pair in files of the `openssl` command, and its public key as a JSON
/// Web Key.
package struct TokenIssuer: Sendable {
    package let id: String
    /// What its tokens call its key.
    private let name: String
    private let modulus: String

    package init(_ id: String, naming name: String? = nil) {
        self.id = id
        self.name = name ?? id
        let made = TestCertificates.shared
        made.openssl(["genrsa", "-out", made.key(id), "2048"])
        let path = "\(made.directory)/\(id).modulus"
        made.openssl(["rsa", "-in", made.key(id), "-noout", "-modulus", "-out", path])
        let text = (try? fileContent(path)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let digits = Array(text.drop { $0 != "=" }.dropFirst().filter { $0 != "\n" })
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
        modulus = Self.encoded(bytes)
    }

    package var published: String {
        #"{"kty":"RSA","use":"sig","kid":"\#(name)","n":"\#(modulus)","e":"AQAB"}"#
    }

    package func token() throws -> String {
        let made = TestCertificates.shared
        let header = #"{"alg":"RS256","kid":"\#(name)"}"#
        let claims = #"{"exp":\#(WallTime.now.seconds + 600)}"#
        let text = [header, claims].map { Self.encoded(Array($0.utf8)) }.joined(separator: ".")
        let content = made.file("\(id).signed", text)
        let signature = "\(made.directory)/\(id).signature"
        made.openssl(["dgst", "-sha256", "-sign", made.key(id), "-out", signature, content])
        return text + "." + Self.encoded(try fileContent(signature))
    }

    private static func encoded(_ bytes: [UInt8]) -> String {
        Digest.base64(bytes).replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    /// The document that an issuer serves under its `keys_url`.
    package static func keySet(_ issuers: TokenIssuer...) -> Response {
        let keys = issuers.map(\.published).joined(separator: ",")
        return Response(
            status: 200,
            contentType: "application/json",
            text: #"{"keys":[\#(keys)]}"#
        )
    }

    /// A server that answers as the closure says; nil holds the request.
    package static func server(
        _ answer: @escaping @Sendable () -> Response?
    ) throws -> RecordingServer {
        let files = TestCertificates.shared.files("server")
        return try RecordingServer(tls: TLSContext(TLSSettings(certificates: [files]))) { _, _ in
            answer()
        }
    }
}
