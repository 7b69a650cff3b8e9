import Configuration
import HTTP
import Ingest
import JSON
import Operations
import System

/// Answers `/admin/session`: a token, or a one-time code, is exchanged for a cookie, so that the console's scripts never
/// see a token.
struct SessionDesk {
    static let bodyBytesMax = 1024

    let door: AdminDoor
    let audit: AuditTrail
    let tail: Tail
    let isSecure: Bool

    /// `GET /admin/session`: who is logged in.
    func show(_ visitor: AdminDoor.Visitor) -> Response {
        Response(json: document(visitor.holder, until: visitor.session?.end))
    }

    /// `POST /admin/session`, with a token in `Authorization`, or with `{"code":…}`.
    func open(_ head: RequestHead, _ body: UnsafeRawBufferPointer) -> Response {
        let authorization = head.fieldRange("authorization").map { head.bytes[$0] }
        let code: String?
        do throws(HTTPProblem) {
            code = try self.code(Array(body))
        } catch {
            return error.response
        }
        if let authorization {
            guard let holder = door.holder(head, authorization) else {
                return door.strangerAnswer(head, authorization)
            }
            return opened(holder, head)
        }
        // Without either it is a stranger's request like any other.
        guard let code else { return door.strangerAnswer(head, nil) }
        guard let holder = door.take(code, head) else {
            return door.strangerAnswer(head, Array(code.utf8)[...])
        }
        return opened(holder, head)
    }

    /// nil: the body is empty, or has no code.
    private func code(_ body: [UInt8]) throws(HTTPProblem) -> String? {
        guard !body.isEmpty else { return nil }
        guard case .object(let members)? = try? JSONValue(parsing: body),
            members.allSatisfy({ $0.name == "code" && $0.value.text != nil }), members.count < 2
        else {
            throw HTTPProblem(
                400,
                "PostBodyInvalid",
                #"the body is {"code":"…"} with the code of sluice console --open, or empty"#
            )
        }
        return members.first?.value.text
    }

    /// `POST /console/login`: the form of the page for browsers without scripts.
    func openFromForm(_ head: RequestHead, _ body: UnsafeRawBufferPointer) -> Response {
        let field = Array("token=".utf8)
        let form = Array(body)
        guard form.starts(with: field),
            let token = percentDecoded(form[field.count...], isForm: true)
        else {
            return HTTPProblem(400, "PostBodyInvalid", "the form has the field token").response
        }
        let shown = Array("Bearer ".utf8) + token
        guard let holder = door.holder(head, shown[...]) else {
            return door.strangerAnswer(head, shown[...])
        }
        var response = opened(holder, head)
        response.status = 303
        response.fields.append(("location", "status"))
        return response
    }

    private func opened(_ holder: AdminHolder, _ head: RequestHead) -> Response {
        let id = door.open(holder)
        audit.record(audit.entry(holder, head, "log in", "console"))
        var response = Response(json: document(holder, until: .now + ConsoleSessions.ageMax))
        response.fields.append(AdminDoor.cookie(id, isSecure: isSecure))
        return response
    }

    /// `DELETE /admin/session`. A token has no session to end.
    func close(_ visitor: AdminDoor.Visitor, _ head: RequestHead) -> Response {
        var response = Response(status: 204)
        guard let session = visitor.session else { return response }
        door.close(session)
        tail.closeOver()
        audit.record(audit.entry(visitor.holder, head, "log out", "console"))
        response.fields.append(AdminDoor.cookie(nil, isSecure: isSecure))
        return response
    }

    /// `POST /admin/session/code`, for `sluice console --open`.
    func makeCode(_ holder: AdminHolder) -> Response {
        let code = door.makeCode(for: holder)
        var json = JSONWriter()
        json.object { json in
            json.member("code", code)
            json.member("path", "/console/#code=\(code)")
            json.member("seconds", Int(LoginCodes.life.milliseconds / 1000))
        }
        return Response(json: json.text + "\n")
    }

    private func document(_ holder: AdminHolder, until end: Moment?) -> String {
        var json = JSONWriter()
        json.object { json in
            json.member("name", holder.name)
            json.member("role", holder.role.rawValue)
            json.member("expires", end.map { (WallTime.now + ($0 - .now)).rfc3339 })
            json.member("version", Version.current)
        }
        return json.text + "\n"
    }
}
