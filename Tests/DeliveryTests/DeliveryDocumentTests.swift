import Foundation
import TestSupport
import Testing

@testable import Delivery

/// The operator's table says what the judge does.
@Suite struct DeliveryDocumentTests {
    static let document: String = {
        (try? String(contentsOfFile: repositoryFile("docs/delivery.md"), encoding: .utf8)) ?? ""
    }()

    /// The rows between the table's mark and the next empty line.
    static var rows: [String] {
        let lines = document.split(separator: "\n", omittingEmptySubsequences: false)
        guard let mark = lines.firstIndex(where: { $0.contains("compared with the code") }),
            let head = lines[mark...].firstIndex(where: { $0.hasPrefix("|---") })
        else { return [] }
        return lines[(head + 1)...].prefix { $0.hasPrefix("|") }.map(String.init)
    }

    static func words(_ action: Judgement.Action) -> String {
        func name(_ scope: GateScope) -> String {
            switch scope {
            case .endpoint: "endpoint"
            case .quota: "project"
            case .project: "destination"
            case .logstore: "logstore"
            }
        }
        return switch action {
        case .again(let scope): "again, \(name(scope))"
        case .slowDown(let scope): "slow down, \(name(scope))"
        case .pause(let scope): "pause, \(name(scope))"
        case .resign: "sign again"
        case .split: "isolate"
        case .suspect: "suspect"
        case .relane: "sequence"
        case .acknowledge, .readdress: "in no row"
        }
    }

    static func row(_ answer: String, _ meaning: String, _ rule: Rule, _ remedy: String) -> String {
        "| \(answer) | \(meaning) | \(words(rule.action)) | \(rule.result.number) | \(remedy) |"
    }

    static var byCode: [String] {
        ErrorCode.table.map { code in
            let names = code.names.map { "`\($0)`" }.joined(separator: ", ")
            return row(names, code.meaning, code.rule, code.remedy)
        }
    }

    static var byStatus: [String] {
        StatusRule.table.map { row in
            let (first, last) = (row.statuses.lowerBound, row.statuses.upperBound)
            let answer =
                switch (first, last) {
                case (0, _): "any other status"
                case (400, _): "others from 400 to 499"
                case (last, _): "\(first)"
                default: "\(first) to \(last)"
                }
            let words = row.words.map { "*\($0)*" }.joined(separator: " or ")
            let meaning =
                "an unknown code" + (words.isEmpty ? "" : ", with the word \(words)")
            return Self.row(answer, meaning, row.rule, row.remedy)
        }
    }

    static var others: [String] {
        [
            row("no request id", "not from SLS", Judge.foreign, Judge.foreignRemedy),
            row(
                "no answer",
                "name, connection, TLS or time",
                Rule(.again(.endpoint), .network, .sendNetworkError),
                "shown with each; an unknown host name or certificate concerns the destination only"
            ),
        ]
    }

    @Test("The document's table is the judge's")
    func table() {
        let expected = Self.byCode + Self.byStatus + Self.others
        #expect(Self.rows == expected, "It is to be:\n\(expected.joined(separator: "\n"))")
    }

    @Test("Every result that is reported has its row", arguments: ProducerResult.allCases)
    func results(result: ProducerResult) {
        #expect(Self.document.contains("| `\(result.name)` | \(result.number) |"))
    }
}
