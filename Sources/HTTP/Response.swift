/// An answer: a status, fields and a body.
///
/// The server adds `content-length`, `connection` where needed, and the handler's stamp.
package struct Response: Sendable {
    package var status: Int
    /// Apart from the other fields, because most answers have no more.
    package var contentType: String?
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    /// Closes the connection after this answer.
    package var closes: Bool
    /// The route index under which the handler counts it; the server ignores it.
    package var label = 0
    /// The receipt that the handler's stamp writes; the server ignores it.
    package var receipt: [UInt8]?
    /// Any page may read it, as the handler's stamp tells; the server ignores it.
    package var isForAnyPage = false
    /// Makes the answer fail on purpose, to test clients.
    package var breaks: Break?
    /// The body is written over time; see `Responder.stream`.
    var stream: StreamedBody?
    /// Room that was reserved for it; see `Responder.reserve`.
    var share: ByteShare?

    /// How an answer breaks off; the connection ends with it.
    package enum Break: Sendable, Equatable {
        /// The connection is reset, and the client sees nothing of the answer.
        case beforeAnswer
        /// The answer announces its whole body and ends after this many bytes of it.
        case afterBody(bytes: Int)
    }

    package init(
        status: Int,
        contentType: String? = nil,
        fields: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        closes: Bool = false
    ) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
        self.body = body
        self.closes = closes
    }

    package init(
        status: Int,
        contentType: String,
        fields: [(name: String, value: String)] = [],
        text: String
    ) {
        self.init(status: status, contentType: contentType, fields: fields, body: Array(text.utf8))
    }
}

/// Writes answers as bytes (RFC 9112 sections 4 to 6).
struct ResponseWriter {
    static let continueResponse = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// The facts of the request that its answer depends on.
    struct Asked {
        /// HEAD: the answer has the body's length but not the body.
        var isHead = false
        /// HTTP/1.0 clients must be told that the connection persists.
        var minorVersion = 1
    }

    /// A larger body gets room of exactly its size, instead of doubled capacity.
    private static let smallBytes = 64 << 10

    var asked = Asked()
    var closes = false

    func write(_ response: Response, stampedBy handler: any RequestHandler, to bytes: inout [UInt8])
    {
        bytes.append(ascii: "HTTP/1.1 ")
        bytes.append(decimal: response.status)
        bytes.append(.space)
        bytes.append(ascii: reasonPhrase(response.status))
        bytes.append(ascii: "\r\n")
        if let type = response.contentType {
            bytes.append(ascii: "content-type: ")
            bytes.append(fieldValue: type)
        }
        for field in response.fields where !isOwn(field.name) {
            bytes.append(field: field.name, field.value)
        }
        // RFC 9110 section 8.6: no length with 1xx and 204; with 304 it is another answer's.
        let hasBody = response.mayHaveBody
        if hasBody, response.stream != nil {
            // HTTP/1.0 has no chunks: there the end of the connection ends the body.
            if asked.minorVersion > 0 { bytes.append(ascii: "transfer-encoding: chunked\r\n") }
        } else if hasBody {
            bytes.append(ascii: "content-length: ")
            bytes.append(decimal: response.body.count)
            bytes.append(ascii: "\r\n")
        }
        if closes {
            bytes.append(ascii: "connection: close\r\n")
        } else if asked.minorVersion == 0 {
            bytes.append(ascii: "connection: keep-alive\r\n")
        }
        handler.stamp(&bytes, of: response)
        bytes.append(ascii: "\r\n")
        guard hasBody, !asked.isHead, response.stream == nil else { return }
        if case .afterBody(let count)? = response.breaks {
            bytes.append(contentsOf: response.body.prefix(count))
        } else {
            let count = response.body.count
            if count > Self.smallBytes { bytes.reserveCapacity(bytes.count + count) }
            bytes.append(contentsOf: response.body)
        }
    }

    /// Only the server writes fields about framing.
    private func isOwn(_ name: String) -> Bool {
        switch name.utf8.count {
        case 10: name.lowercased() == "connection"
        case 14: name.lowercased() == "content-length"
        case 17: name.lowercased() == "transfer-encoding"
        default: false
        }
    }
}

extension Response {
    var mayHaveBody: Bool { status >= 200 && status != 204 && status != 304 }
}

extension [UInt8] {
    package mutating func append(ascii text: StaticString) {
        text.withUTF8Buffer { append(contentsOf: $0) }
    }

    package mutating func append(decimal number: Int) {
        if number >= 10 { append(decimal: number / 10) }
        append(UInt8(ascii: "0") + UInt8(number % 10))
    }

    fileprivate mutating func append(field name: String, _ value: String) {
        var name = name
        // Texts as buffers: `utf8` takes forty instructions a byte.
        let isName = name.withUTF8 { name in
            guard !name.isEmpty, name.allSatisfy(\.isToken) else { return false }
            append(contentsOf: name)
            return true
        }
        guard isName else { return }
        append(ascii: ": ")
        append(fieldValue: value)
    }

    /// Appends a value and the line's end. Characters that would end the field, and begin another
    /// or an answer, become spaces.
    fileprivate mutating func append(fieldValue value: String) {
        var value = value
        let start = count
        value.withUTF8 { append(contentsOf: $0) }
        for index in start..<count where !self[index].isFieldContent { self[index] = .space }
        append(ascii: "\r\n")
    }
}

private func reasonPhrase(_ status: Int) -> StaticString {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 406: "Not Acceptable"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 417: "Expectation Failed"
    case 422: "Unprocessable Content"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    default: "Status"
    }
}
