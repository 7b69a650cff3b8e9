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

    init?(path: String) {
        switch path {
        case "/": self = .page
        case "/logs": self = .logs
        case "/stats": self = .stats
        case "/faults": self = .faults
        case "/limits": self = .limits
        case "/keys": self = .keys
        case "/poisons": self = .poisons
        default:
            guard path.hasPrefix("/faults/"), let id = Int(path.dropFirst(8)) else { return nil }
            self = .fault(id)
        }
    }
}
