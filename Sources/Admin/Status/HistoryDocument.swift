import HTTP
import JSON
import Operations
import System

/// `GET /admin/history`: what the charts of the console show.
enum HistoryDocument {
    static func answer(_ head: RequestHead, _ history: History) -> Response {
        let asked = head.queryPairs?.first { $0.name == "window" }?.value
        guard let window = History.Window(rawValue: asked ?? History.Window.minutes.rawValue) else {
            let known = History.Window.allCases.map(\.rawValue).joined(separator: ", ")
            return HTTPProblem(
                400,
                "ParameterInvalid",
                "window cannot be \(clipped(asked ?? "")); known: \(known)"
            ).response
        }
        return Response(json: document(history.view(window)))
    }

    private static func document(_ view: History.View) -> String {
        var json = JSONWriter()
        json.object { json in
            json.member("window", view.window.rawValue)
            json.member("step_seconds", Int(view.window.step.inSeconds))
            json.member("end", view.end.rfc3339)
            json.array("series") { json in
                for (series, values) in view.series {
                    json.object { json in
                        json.member("name", series.rawValue)
                        json.member("unit", series.unit)
                        json.array("values") { json in
                            for value in values { json.element(decimal: value) }
                        }
                    }
                }
            }
        }
        return json.text + "\n"
    }
}
