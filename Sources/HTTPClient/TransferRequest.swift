package import Crypto
import System

/// One request, as a transfer sends it.
package struct TransferRequest {
    package var method = "GET"
    package var url: String
    /// Each as "Name: value".
    package var headers: [String] = []
    /// nil: the request has no Accept header.
    package var accept: String?
    /// nil: no body and no Content-Length.
    package var body: OutgoingBody.Content?
    /// From the start of the request to the end of its response; nil: no limit.
    package var timeLimit: Duration?
    package var response: ResponseUse

    package init(_ url: String, keeping response: ResponseUse) {
        self.url = url
        self.response = response
    }
}

/// The parts of a response to keep. Its head is limited to 64 KiB.
package struct ResponseUse {
    package enum Body {
        /// Keeps the first bytes; a body over `max` fails the transfer.
        case first(Int, max: Int)
        /// Keeps the whole body in memory that is wiped later; a body over `countMax` fails the transfer.
        case secret(WipedBytes)
        /// Ends the response after its head, whatever body the server sends.
        case none
        /// Passes each piece on with status and headers; false ends the transfer.
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
