import Configuration
import HTTP
import JSON
import Operations
import System

extension AdminCall {
    /// `GET /admin/configuration`: every setting in force, where it was given, and what is wrong
    /// with the file.
    func configuration() -> Response {
        let configuration = shared.reporter.configuration
        let problems = shared.reload.problems
        return .json { json in
            json.member("file", configuration.origins.file)
            json.objects("values", configuration.effective) { $0.setting($1) }
            json.array("problems") { json in
                for problem in problems { json.object { $0.problem(problem) } }
                for warning in configuration.warnings(at: .now) {
                    json.object { json in
                        json.member("message", warning)
                        json.member("line", nil as Int?)
                        json.member("refused", false)
                    }
                }
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func setting(_ setting: EffectiveSetting) {
        member("key", setting.key)
        member("value", setting.value)
        member("hidden", setting.isHidden)
        member("origin", setting.origin.name)
        let (line, name): (Int?, String?) =
            switch setting.origin {
            case .file(let line): (line, nil)
            case .environment(let name), .option(let name): (nil, name)
            case .decided, .standard: (nil, nil)
            }
        member("line", line)
        member("given_by", name)
        member("changed", setting.origin != .standard)
    }

    fileprivate mutating func problem(_ problem: ConfigurationProblem) {
        member("message", problem.description)
        let line: Int? = if case .file(_, let line) = problem.place { line } else { nil }
        member("line", line)
        member("refused", true)
    }
}
