import Configuration
import HTTP
import Ingest
import JSON
import Operations
import System

/// `/admin/session`: exchanges a token or a code for a cookie, so that scripts see no token.
extension AdminCall {
    /// `GET /admin/session`: who is logged in.
    func session() -> Response? {
        visitor.map { Self.session(of: $0.holder, until: $0.session?.end) }
    }

    fileprivate static func session(of holder: AdminHolder, until end: Moment?) -> Response {
        .json { json in
            json.member("name", holder.name)
            json.member("role", holder.role.rawValue)
            json.member("expires", end.map { (WallTime.now + ($0 - .now)).rfc3339 })
            json.member("version", Version.current)
        }
    }
}

extension AdminHandler {
    /// `POST /admin/session`, with a token in `Authorization`, or with `{"code":…}`.
    func logIn(
        _ call: AdminCall,
        _ body: UnsafeRawBufferPointer
    ) throws(HTTPProblem) -> Response? {
        let head = call.head
        let code = try code(Array(body))
        if let range = head.fieldRange("authorization") {
            return logIn(call, showing: head.bytes[range])
        }
        // Without either it is a stranger's request like any other.
        guard let code else { return door.strangerAnswer(head, nil) }
        guard let holder = door.take(code, head) else {
            return door.strangerAnswer(head, Array(code.utf8)[...])
        }
        return opened(holder, call)
    }

    /// nil: the body is empty, or has no code.
    private func code(_ body: [UInt8]) throws(HTTPProblem) -> String? {
        guard !body.isEmpty else { return nil }
        guard case .object(let members)? = try? JSONValue(parsing: body),
            members.allSatisfy({ $0.name == "code" && $0.value.text != nil }), members.count < 2
        else {
            throw .body(
                #"the body is {"code":"…"} with the code of sluice console --open, or empty"#
            )
        }
        return members.first?.value.text
    }

    /// `POST /console/login`: the form of the page for browsers without scripts.
    func logInFromForm(
        _ call: AdminCall,
        _ body: UnsafeRawBufferPointer
    ) throws(HTTPProblem) -> Response? {
        let field = Array("token=".utf8)
        let form = Array(body)
        guard form.starts(with: field),
            let token = percentDecoded(form[field.count...], isForm: true)
        else { throw .body("the form has the field token") }
        var response = logIn(call, showing: (Array("Bearer ".utf8) + token)[...])
        if response.status == 200 {
            response.status = 303
            response.fields.append(("location", "status"))
        }
        return response
    }

    private func logIn(_ call: AdminCall, showing shown: ArraySlice<UInt8>) -> Response {
        guard let holder = door.holder(call.head, shown) else {
            return door.strangerAnswer(call.head, shown)
        }
        return opened(holder, call)
    }

    private func opened(_ holder: AdminHolder, _ call: AdminCall) -> Response {
        let id = door.open(holder)
        let actor = Operator(holder, at: call.head.peer)
        shared.audit.record(actor.entry("log in", "console"))
        var response = AdminCall.session(of: holder, until: .now + ConsoleSessions.ageMax)
        response.fields.append(AdminDoor.cookie(id, isSecure: isSecure))
        return response
    }

    /// `DELETE /admin/session`. A token has no session to end.
    func logOut(_ call: AdminCall, _ body: UnsafeRawBufferPointer) -> Response? {
        var response = Response(status: 204)
        guard let session = call.visitor?.session else { return response }
        door.close(session)
        shared.parts.tail.closeOver()
        call.record("log out", "console")
        response.fields.append(AdminDoor.cookie(nil, isSecure: isSecure))
        return response
    }

    /// `POST /admin/session/code`, for `sluice console --open`.
    func makeCode(_ call: AdminCall, _ body: UnsafeRawBufferPointer) -> Response? {
        guard let visitor = call.visitor else { return nil }
        let code = door.makeCode(for: visitor.holder)
        return .json { json in
            json.member("code", code)
            json.member("path", "/console/#code=\(code)")
            json.member("seconds", Int(LoginCodes.life.milliseconds / 1000))
        }
    }
}
