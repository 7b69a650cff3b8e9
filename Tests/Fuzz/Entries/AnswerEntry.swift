import SLS

@testable import Delivery
@testable import HTTPClient

/// An answer of SLS, or of a server in its place: a status of two bytes, header lines, an empty
/// one, a body.
enum AnswerEntry: FuzzEntry {
    static let name = "answer"

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        guard bytes.count > 2 else { return }
        let status = 100 + (Int(bytes[0]) << 8 | Int(bytes[1])) % 500
        var rest = bytes[2...]
        var received = ReceivedResponse(.slsAnswer)
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = rest[...end]
            rest = rest[(end + 1)...]
            guard line.count > 2 else { break }
            _ = exactly(line) { received.receive(headerLine: $0) }
        }
        _ = exactly(rest) { received.receive(body: $0, status: status) }
        let answer = SLSAnswer(status: status, headers: received.headers, body: received.body)
        try check(
            !answer.isStored || status == 200 && namesRequest(bytes),
            "taken for stored with status \(status)"
        )
        try keepsPromises(answer)
    }

    /// True when any line gives a request id: found in the bytes, independent of the answer's own
    /// reading.
    private static func namesRequest(_ bytes: [UInt8]) -> Bool {
        bytes.split(separator: UInt8(ascii: "\n")).contains { line in
            let text = String(decoding: line, as: UTF8.self).lowercased()
            guard let name = text.firstRange(of: "x-log-requestid") else { return false }
            let rest = text[name.upperBound...].drop { $0 == " " || $0 == "\t" }
            return rest.first == ":"
                && rest.dropFirst().utf8.contains { $0 > 0x20 && $0 < 0x7F }
        }
    }

    private static func keepsPromises(_ answer: SLSAnswer) throws(Contradiction) {
        let isSLS = answer.requestID != nil
        try check(isSLS || answer.serverTime == nil, "a stranger tells the time")
        try check(isSLS || answer.retryAfter == nil, "a stranger closes the destination")
        if let wait = answer.retryAfter {
            try check(wait > .zero && wait <= .seconds(3600), "to wait for \(wait)")
        }
        for text in [answer.errorCode, answer.errorMessage, answer.requestID] {
            let isLine = text?.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } ?? true
            try check(isLine, "a control character in \(text ?? "")")
        }
        for mayBeStored in [false, true] {
            for hasLane in [false, true] {
                var attempt = Attempt()
                attempt.mayBeStored = mayBeStored
                attempt.hasLane = hasLane
                try keepsPromises(answer, Judge.judge(answer, attempt), attempt)
            }
        }
    }

    /// Logs go only when SLS says that it has them.
    private static func keepsPromises(
        _ answer: SLSAnswer,
        _ judgement: Judgement,
        _ attempt: Attempt
    ) throws(Contradiction) {
        let isRepeated =
            answer.errorCode == "InvalidSequenceId" && attempt.hasLane && attempt.mayBeStored
        let mayGo = answer.isStored || isRepeated
        try check(judgement.action != .acknowledge || mayGo, "acknowledged for \(answer)")
        try check(!judgement.message.isEmpty || answer.isStored, "no reason for \(answer)")
        if judgement.action == .split {
            try check(answer.requestID != nil, "taken apart for what a stranger says")
        }
    }
}
