import Configuration
import HTTP
import JSON
import System

/// `GET /admin/configuration`: every setting in force, where it was given, and what is wrong with the file.
enum ConfigurationDocument {
    static func answer(
        _ configuration: GatewayConfiguration,
        _ problems: [ConfigurationProblem]
    ) -> Response {
        var json = JSONWriter()
        json.object { json in
            json.member("file", configuration.origins.file)
            json.array("values") { json in
                for setting in configuration.effective { json.object { $0.setting(setting) } }
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
