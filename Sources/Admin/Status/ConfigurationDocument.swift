import Configuration
import HTTP
import JSON
import System

/// `GET /admin/configuration`: every setting in force, where it was given, and what is wrong with the file.
enum ConfigurationDocument {
    static func answer(
        _ configuration: GatewayConfiguration,
        _ problems: [ConfigurationProblem],
        _ wantsText: Bool
    ) -> Response {
        let settings = configuration.effective
        guard !wantsText else {
            let lines = problems.map { "refused: \($0)\n" } + settings.map(\.line)
            return Response(text: lines.joined())
        }
        var json = JSONWriter()
        json.object { json in
            json.member("file", configuration.origins.file)
            json.array("values") { json in
                for setting in settings { json.object { $0.setting(setting) } }
            }
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
        return Response(json: json.text + "\n")
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
