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
        let (settings, problems) = (configuration.effective, shared.reload.problems)
        let lines = problems.map { "refused: \($0)\n" } + settings.map(\.line)
        return answer(text: lines.joined()) { json in
            json.member("file", configuration.origins.file)
            json.objects("values", settings) { $0.setting($1) }
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

extension EffectiveSetting {
    private var place: String? {
        switch origin {
        case .file(let line): "line \(line)"
        case .environment(let name), .option(let name): name
        case .decided, .standard: nil
        }
    }

    /// "queue.max_bytes = 1GiB (file, line 7)"
    fileprivate var line: String {
        let shown = isHidden ? "(not shown)" : value ?? "(not set)"
        let place = place.map { ", \($0)" } ?? ""
        return "\(key) = \(shown) (\(origin.name)\(place))\n"
    }
}

extension JSONWriter {
    fileprivate mutating func setting(_ setting: EffectiveSetting) {
        member("key", setting.key)
        member("value", setting.value)
        member("hidden", setting.isHidden)
        member("origin", setting.origin.name)
        let line: Int? = if case .file(let line) = setting.origin { line } else { nil }
        member("line", line)
        member("changed", setting.origin != .standard)
    }

    fileprivate mutating func problem(_ problem: ConfigurationProblem) {
        member("message", problem.description)
        let line: Int? = if case .file(_, let line) = problem.place { line } else { nil }
        member("line", line)
        member("refused", true)
    }
}
