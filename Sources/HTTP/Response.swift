/// One answer: a status, the fields that are not the server's own business, and a body.
///
/// The server adds `content-length`, `connection` where it is needed, and the handler's stamp.
package struct Response: Sendable {
    package var status: Int
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    /// Close the connection after this answer.
    package var closes: Bool
    /// What its handler counts it under; the server makes nothing of it.
    package var label = 0
    /// For servers that fail on request, to test clients.
    package var breaks: Break?
    /// The body comes over time; see `Responder.stream`.
    var stream: StreamedBody?
    /// Room for it that was taken before it was promised; see `Responder.reserve`.
    var share: ByteShare?

    /// How an answer breaks off; the connection ends with it.
    package enum Break: Sendable, Equatable {
        /// The connection is reset and the client sees nothing of the answer.
        case beforeAnswer
        /// The answer announces all of its body and ends after so many bytes of it.
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
        self.init(
            status: status,
            fields: [("content-type", contentType)] + fields,
            body: Array(text.utf8)
        )
    }
}
