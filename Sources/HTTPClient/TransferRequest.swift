package import Crypto
import System

/// One request, as a transfer sends it.
package struct TransferRequest {
    package var method = "GET"
    package var url: String
    /// "Name: value".
    package var headers: [String] = []
    /// Without one, the request has no Accept header.
    package var accept: String?
    /// nil sends no body and no Content-Length.
    package var body: OutgoingBody.Content?
    /// From the start of the request to the end of its response; nil: no limit.
    package var timeLimit: Duration?
    package var response: ResponseUse

    package init(_ url: String, keeping response: ResponseUse) {
        self.url = url
        self.response = response
    }
}

/// What is kept of a response. Its head is limited to 64 KiB.
package struct ResponseUse {
    package enum Body {
        /// Keeps the first bytes; a body over `max` fails the transfer.
        case first(Int, max: Int)
        /// Keeps all of it where it is wiped later; a body over the bytes' `countMax` fails the transfer.
        case secret(WipedBytes)
        /// The response ends with its head: a server may send any body.
        case none
        /// Hands on each piece with status and headers; false ends the transfer.
        case stream((TransferResponse.Head, UnsafeRawBufferPointer) -> Bool)
    }

    /// Names in lower case.
    package var headers: Set<String>
    package var body: Body

    package init(headers: Set<String> = [], body: Body) {
        self.headers = headers
        self.body = body
    }
}
