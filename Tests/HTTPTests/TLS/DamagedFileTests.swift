import Net
import TestSupport
import Testing

@testable import HTTP

/// Files that were being written when they were read, or that broke since.
@Suite
struct DamagedFileTests {
    static let files = TestCertificates.shared

    /// Of the second certificate, what came so far.
    static let rests: [(name: String, rest: @Sendable (String) -> String)] = [
        ("cut in its middle", { String($0.prefix($0.count / 2)) }),
        ("cut in its last line", { String($0.dropLast(10)) }),
        ("with a byte that is none of base64", { $0.replacing("MII", with: "MI?") }),
    ]

    private func refuses(_ settings: TLSSettings, _ file: String) -> Bool {
        do throws(TLSError) {
            _ = try TLSContext(settings)
            return false
        } catch {
            return "\(error)".hasPrefix("\(file) is damaged")
        }
    }

    @Test("A damaged chain or list of authorities is refused as a whole", arguments: 0..<3)
    func damaged(kind: Int) throws {
        let own = Self.files.content(Self.files.certificate("server"))
        let next = Self.files.content(Self.files.certificate("authority"))
        let (name, rest) = Self.rests[kind]
        let file = Self.files.file("damaged-\(kind).pem", own + rest(next) + "\n" + next)
        let key = Self.files.key("server")
        #expect(
            refuses(
                TLSSettings(
                    certificates: [TLSSettings.Certificate(chainFile: file, keyFile: key)]
                ),
                file
            ),
            "\(name)"
        )
        let listed = TLSSettings(
            certificates: [Self.files.files("server")],
            clientCertificates: .required(authorities: file)
        )
        #expect(refuses(listed, file), "\(name)")
    }

    @Test("Text between certificates is ignored")
    func remarks() throws {
        let own = Self.files.content(Self.files.certificate("server"))
        let next = Self.files.content(Self.files.certificate("authority"))
        let file = Self.files.file("remarks.pem", "own:\n\(own)\nnext:\n\(next)\nno more\n")
        _ = try TLSContext(
            TLSSettings(
                certificates: [
                    TLSSettings.Certificate(chainFile: file, keyFile: Self.files.key("server"))
                ]
            )
        )
    }
}
