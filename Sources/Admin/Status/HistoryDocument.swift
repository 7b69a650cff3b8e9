import HTTP
import JSON
import Operations
import System

extension AdminCall {
    /// `GET /admin/history`: what the charts of the console show.
    func history() throws(HTTPProblem) -> Response {
        let asked = head.parameter("window") ?? History.Window.minutes.rawValue
        guard let window = History.Window(rawValue: asked) else {
            let known = History.Window.allCases.map(\.rawValue).joined(separator: ", ")
            throw .query("window cannot be \(clipped(asked)); known: \(known)")
        }
        let view = shared.history.view(window)
        return .json { json in
            json.member("window", view.window.rawValue)
            json.member("step_seconds", Int(view.window.step.inSeconds))
            json.member("end", view.end.rfc3339)
            json.objects("series", view.series) { json, each in
                json.member("name", each.0.rawValue)
                json.member("unit", each.0.unit)
                json.array("values") { json in
                    for value in each.1 { json.element(decimal: value) }
                }
            }
        }
    }
}
