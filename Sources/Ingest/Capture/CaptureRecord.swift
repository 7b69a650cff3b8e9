import Logs
package import System

/// A captured request: what came, what was decided, and what was answered. Secrets are masked
/// before they get here.
package struct CaptureRecord: Sendable {
    package typealias Fields = [(name: String, value: String)]

    package struct Body: Sendable {
        /// The size of all of it.
        package let bytes: Int
        /// nil where the text is not all that came: by its hash, a secret that is hidden could be
        /// guessed.
        package let sha256: String?
        /// nil: it is not kept, because of `reason`.
        package let text: String?
        /// True: the text is only the beginning.
        package let isCut: Bool
        /// Why there is no text, or why it is not what was sent.
        package let reason: String?
    }

    /// Something that was decided about the request, in order.
    package struct Decision: Sendable {
        package let step: String
        package let outcome: String
        package let detail: String
    }

    /// How the request addressed and labelled logs, before filters.
    package struct Group: Sendable {
        let address: LogAddress
        let tag: String
        let topic: String?
        let fallbackTopic: String
        let source: String?
        let tags: [(key: String, value: String)]

        var weight: Int {
            256 + (topic?.utf8.count ?? 0) + (source?.utf8.count ?? 0)
                + CaptureRecord.weight(tags.map { (name: $0.key, value: $0.value) })
        }
    }

    package struct Log: Sendable {
        /// How much of the log as it came is kept. Only a whole log can be sent again.
        package enum Fidelity: Sendable {
            case whole
            case masked
            case cut
            /// It could not be read, and became a dead letter as the text that came.
            case unreadable
        }

        let group: Int
        let time: LogTime
        package let extent: Fidelity
        /// As it came; nil where a filter redacts, because this is what it redacts.
        package let before: Fields?
        /// After the filters; nil for a log that they dropped, or that `wasTooLong`.
        package let after: Fields?
        /// The record had no room for the log as it left the filters.
        package let wasTooLong: Bool
        package let tag: String
        package let destinations: [String]
        /// Why it was dropped or became a dead letter.
        package let reason: String?

        var weight: Int {
            128 + CaptureRecord.weight(before ?? []) + CaptureRecord.weight(after ?? [])
        }
    }

    package struct Batch: Sendable {
        package let destination: String
        package let logstore: String
        package let topic: String
        package let logs: Int
        package let bytes: Int

        var weight: Int { 128 + topic.utf8.count }
    }

    package struct Answer: Sendable {
        package let status: Int
        package let fields: Fields
        package let body: String
        package let time: Duration
    }

    package static let attemptsMax = 50

    /// From 1 in each capture.
    package var number = 0
    package let time: WallTime
    package let method: String
    package let path: String
    package let query: String?
    package let minorVersion: Int
    package let address: String
    package let fields: Fields
    package var key: String?
    /// The destinations to which its sender may send, a token's claim included; nil: all.
    var rights: Set<String>?
    package var tag: String?
    package var body: Body?
    /// nil: the body was not compressed.
    package var inflated: Body?
    package var decisions: [Decision] = []
    /// nil: the request was refused before its logs were dispatched.
    var accepted: CapturedLogs?
    package var receipt: String?
    package var answer: Answer?
    /// nil: nothing was stored.
    var followed: FollowedLogs?

    package var logs: [Log] { accepted?.logs ?? [] }
    package var logCount: Int { accepted?.logCount ?? 0 }
    package var batches: [Batch] { accepted?.batches ?? [] }
    var groups: [Group?] { accepted?.groups ?? [] }

    /// What became of its logs up to now. It changes after the answer, so read it once.
    package var progress: LogProgress { followed?.progress ?? LogProgress() }

    package func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name }?.value
    }

    static let weightMin = 1024

    /// About the memory that it takes at its start, as all weights here.
    package var weight: Int {
        var sum = Self.weightMin + path.utf8.count + (query?.utf8.count ?? 0) + Self.weight(fields)
        sum += (body?.text?.utf8.count ?? 0) + (inflated?.text?.utf8.count ?? 0)
        sum += decisions.reduce(0) { $0 + 96 + $1.detail.utf8.count }
        sum += (accepted?.weight ?? 0) + (followed?.weight ?? 0)
        if let answer { sum += Self.weight(answer.fields) + answer.body.utf8.count }
        return sum
    }

    private static func weight(_ fields: Fields) -> Int {
        fields.reduce(0) { $0 + 64 + $1.name.utf8.count + $1.value.utf8.count }
    }
}
