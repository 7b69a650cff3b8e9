/// A whole response.
package struct TransferResponse {
    package struct Head {
        package let status: Int
        /// Those that the request asked for, names in lower case.
        package let headers: [(name: String, value: String)]

        package subscript(name: String) -> String? {
            headers.first { $0.name == name }?.value
        }
    }

    package let head: Head
    /// What `ResponseUse.Body.first` keeps; empty otherwise.
    package let body: [UInt8]
}

/// Why there was no response, or not a whole one.
package struct TransferFailure {
    package let code: CurlCode
    /// Why this side ended the transfer, if it did.
    package let refusal: ResponseRefusal?
    /// What curl and OpenSSL wrote about this transfer; may be empty.
    package let detail: String
    /// The head of a response that broke off; status 0 when none began.
    package let head: TransferResponse.Head
    /// A proxy's answer to CONNECT; 0 when none was asked.
    package let proxyStatus: Int
    /// OpenSSL's verdict about the server's certificate; 0 is good.
    package let certificateVerdict: Int
    /// The request was sent, at least in part.
    package let isSent: Bool
}

/// Why a response is refused while it arrives.
package enum ResponseRefusal: CustomStringConvertible {
    case headTooLarge
    case bodyTooLarge
    case lengthUnclear

    package var description: String {
        switch self {
        case .headTooLarge: "its head is too large"
        case .bodyTooLarge: "its body is too large"
        case .lengthUnclear: "its length cannot be told"
        }
    }
}

package enum TransferOutcome {
    case answered(TransferResponse)
    case failed(TransferFailure)
}
