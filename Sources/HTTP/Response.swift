/// An answer: a status, fields and a body.
///
/// The server adds `content-length`, `connection` where needed, and the handler's stamp.
package struct Response: Sendable {
    package var status: Int
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    /// Closes the connection after this answer.
    package var closes: Bool
    /// The route index under which the handler counts it; the server ignores it.
    package var label = 0
    /// The receipt that the handler's stamp writes; the server ignores it.
    package var receipt: String?
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
        fields: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        closes: Bool = false
    ) {
        self.status = status
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

    package init(
        status: Int,
        contentType: String,
        fields: [(name: String, value: String)] = [],
        body: [UInt8]
    ) {
        var all: [(name: String, value: String)] = []
        // Room for the receipt, CORS and the like, so that the array does not grow.
        all.reserveCapacity(fields.count + 4)
        all.append(("content-type", contentType))
        all += fields
        self.init(status: status, fields: all, body: body)
    }
}
