import SLS

/// A row of the judge's table.
struct Rule: Equatable {
    enum Plan: Equatable {
        case again(GateScope)
        case slowDown(GateScope)
        case pause(GateScope)
        case resign
        case split
        case suspect
        case sequence
    }

    let plan: Plan
    let kind: DeliveryFailure.Kind
    let result: ProducerResult

    init(_ plan: Plan, _ kind: DeliveryFailure.Kind, _ result: ProducerResult) {
        self.plan = plan
        self.kind = kind
        self.result = result
    }
}

extension Rule {
    /// For codes that SLS is known to send.
    struct ByCode {
        let rule: Rule
        let codes: [String]

        init(_ rule: Rule, _ codes: String...) {
            self.rule = rule
            self.codes = codes
        }
    }

    /// For answers of SLS whose code nobody knows.
    struct ByStatus {
        let rule: Rule
        let statuses: ClosedRange<Int>
        let remedy: String
        /// One of these has to be in the code or the message; when there are none, any will do.
        let words: [String]

        init(
            _ statuses: ClosedRange<Int>,
            _ rule: Rule,
            _ remedy: String,
            saying words: String...
        ) {
            self.statuses = statuses
            self.rule = rule
            self.remedy = remedy
            self.words = words
        }

        func fits(_ answer: SLSAnswer) -> Bool {
            guard statuses.contains(answer.status) else { return false }
            if words.isEmpty { return true }
            let said = [answer.errorCode, answer.errorMessage].compactMap { $0?.lowercased() }
            return words.contains { word in said.contains { $0.contains(word) } }
        }
    }
}
