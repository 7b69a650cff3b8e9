import Foundation
import TestSupport
import Testing

@testable import Credentials

/// The operator's page says what the room does.
@Suite struct CredentialsDocumentTests {
    private let page: String = {
        (try? String(contentsOfFile: repositoryFile("docs/credentials.md"), encoding: .utf8)) ?? ""
    }()

    @Test("Every refusal of STS has its row, in the order of the code")
    func refusals() throws {
        let mark = try #require(page.firstRange(of: "compared with the code"))
        let rows = page[mark.upperBound...].split(separator: "\n").filter { $0.hasPrefix("| `") }
        let expected = STSRefusal.rows.map {
            "| `\($0.code)` | \($0.kind.rawValue) | \($0.remedy) |"
        }
        #expect(rows.prefix(expected.count).map(String.init) == expected)
    }

    @Test("Every state and every source has its row")
    func rows() {
        for state in CredentialStatus.State.allCases {
            #expect(page.contains("\n| `\(state.rawValue)` |"))
        }
        let sources: [CredentialSource] = [
            .environment, .file(FileSource()), .admin, .oidcRole(OIDCRole()),
            .ecsRole(ECSRole()), .uri(URISource()), .chain,
            .assumeRole(AssumeRole(roleARN: "")), .fixed(Samples.key),
        ]
        for source in sources { #expect(page.contains("\n| `\(source.kind)` |")) }
    }
}
