/// Requests to the sandbox itself, by people and tests.
enum ControlRoute: Equatable, Sendable {
    case page
    case logs
    case stats
    case faults
    case fault(Int)
    case limits
    case keys
    case poisons
    case names

    init?(path: String) {
        switch path {
        case "/": self = .page
        case "/logs": self = .logs
        case "/stats": self = .stats
        case "/faults": self = .faults
        case "/limits": self = .limits
        case "/keys": self = .keys
        case "/poisons": self = .poisons
        case "/names": self = .names
        default:
            guard path.hasPrefix("/faults/"), let id = Int(path.dropFirst(8)) else { return nil }
            self = .fault(id)
        }
    }
}

extension Sandbox {
    /// Answers control requests.
    func answer(
        _ route: ControlRoute,
        _ request: ReceivedRequest,
        body: UnsafeRawBufferPointer
    ) -> Answer {
        do throws(SLSRefusal) {
            return try carryOut(route, request, body: body)
        } catch {
            return .text("application/json", error.body + Array("\n".utf8), status: error.status)
        }
    }

    private func carryOut(
        _ route: ControlRoute,
        _ request: ReceivedRequest,
        body: UnsafeRawBufferPointer
    ) throws(SLSRefusal) -> Answer {
        switch (route, request.method == "HEAD" ? "GET" : request.method) {
        case (.page, "GET"): try page(request)
        case (.logs, "GET"): try logs(request)
        case (.logs, "DELETE"): try clearLogs()
        case (.stats, "GET"): stats()
        case (.faults, "GET"): listFaults()
        case (.faults, "POST"): try addFault(body)
        case (.faults, "DELETE"): try removeFaults(nil)
        case (.fault(let id), "DELETE"): try removeFaults(id)
        case (.limits, "GET"): listLimits()
        case (.limits, "POST"): try setLimit(body)
        case (.limits, "DELETE"): removeLimits(request)
        case (.keys, "GET"): listKeys()
        case (.keys, "POST"): try setKey(body)
        case (.keys, "DELETE"): try removeKey(request)
        case (.poisons, "GET"): listPoisons()
        case (.poisons, "POST"): try setPoison(body)
        case (.poisons, "DELETE"): removePoisons()
        case (.names, "GET"): listNames()
        case (.names, "POST"): try setName(body)
        case (.names, "DELETE"): removeNames()
        default:
            throw SLSRefusal(
                405,
                "InvalidMethod",
                "\(request.method) \(request.path) is not supported."
            )
        }
    }
}
