import HTTP
package import Logs
package import Queue

// One answer for each reason, as the table of the outer contract has it.

extension Refusal {
    package init(_ admission: QueueAdmission) {
        let reason =
            switch admission {
            case .open: "try again"
            case .full: "the queue is full; keep the logs and send them again later"
            case .destinationFull:
                "the queue of this destination is full; keep the logs and send them again later"
            case .tooManyLogstores:
                "no room for one more logstore; see destinations.*.logstores_max"
            case .tooManyStreams:
                "the queue holds as many streams (sets of topic, source and tags) as queue.max_streams "
                    + "allows; keep the logs and send them again later"
            case .tooManyStreamsOfDestination:
                "this destination has its share of the streams (sets of topic, source and tags) of "
                    + "queue.max_streams; keep the logs and send them again later"
            case .tooManyStreamsOfSender:
                "this device key has its share of the streams (sets of topic, source and tags) of "
                    + "queue.max_streams; keep the logs and send them again later"
            case .diskFull: "the disk is full; keep the logs and send them again later"
            case .failing: "the queue cannot be written; keep the logs and send them again later"
            case .stopping: "the gateway is stopping; keep the logs and send them again"
            }
        // Also for one logstore too many: others may drain, and a client that is told 404 drops its logs.
        self.init(503, "ServerBusy", reason)
    }

    init(_ error: InflateError) {
        switch error {
        case .tooLarge, .suspiciousRatio:
            self.init(413, "PostBodyTooLarge", error.description)
        case .corrupt, .sizeMismatch, .sizeMissing:
            self.init(400, "PostBodyUncompressError", error.description)
        // The logs are as they should be: SDKs drop what is answered with 400.
        case .noMemory: self.init(503, "ServerBusy", error.description)
        }
    }

    package init(_ error: LogDecodingError) {
        let (status, code) =
            switch error.kind {
            case .unreadable: (400, "PostBodyInvalid")
            case .tooLarge: (413, "PostBodyTooLarge")
            case .notInflatable: (400, "PostBodyUncompressError")
            // The logs are as they should be: whoever is told 400 drops them.
            case .noMemory: (503, "ServerBusy")
            }
        self.init(status, code, error.description, position: error.position)
    }

    /// A request that the server refused before it asked the handler.
    init(_ problem: RequestProblem) {
        let problem = HTTPProblem(problem)
        self.init(problem.status, problem.code, problem.message)
    }

    /// The reason of the first text that cannot be read, as it would be if none could be kept.
    static func unreadable(_ logs: DecodedLogs) -> Refusal {
        for faulty in logs.faulty {
            guard case .unreadable(let position, let reason) = faulty.fault else { continue }
            return Refusal(
                400,
                "PostBodyInvalid",
                "\(reason) (at byte \(position)); dead letters take an eighth of the queue already, so "
                    + "nothing of the body is stored",
                position: position
            )
        }
        return Refusal(400, "PostBodyInvalid", "the body cannot be read")
    }

    static func tooManyDoomed(_ count: Int, most: Int) -> Refusal {
        Refusal(
            413,
            "PostBodyTooLarge",
            "\(count) logs would become dead letters at once, at most \(most) may: send fewer, and look "
                + "at their times and sizes"
        )
    }

    static func tooManyStreams(most: Int) -> Refusal {
        Refusal(
            413,
            "PostBodyTooLarge",
            "the logs differ in topic, source or tags more than \(most) times; send smaller batches"
        )
    }

    package static let unwantedBody = Refusal(
        400,
        "ParameterInvalid",
        "this request takes no body; send it without one"
    )
}

extension Refusal {
    static let draining = Refusal(
        503,
        "ServerBusy",
        "the gateway takes no more logs, since it is being drained; keep them and send them again"
    )
}

extension Refusal {
    /// MessagePack is what the output `http` of older versions of Fluent Bit sends unless it is told a format. `type` is
    /// in lower case.
    static func checkNotMessagePack(_ type: String?) throws(Refusal) {
        guard let type, type.hasPrefix("application/"), type.contains("msgpack") else { return }
        throw Refusal(
            415,
            "ContentTypeInvalid",
            "MessagePack is not taken, JSON is; in Fluent Bit: Format json"
        )
    }
}
