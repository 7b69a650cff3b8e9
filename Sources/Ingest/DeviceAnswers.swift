package import HTTP
import Logs
import SLS
import Synchronization
package import System

/// Builds the answers to devices. Any thread may use it. An object, because each request that waits
/// for the queue refers to all that its answer needs.
final class DeviceAnswers: Sendable {
    let shared: DeviceHandler.Shared

    init(_ shared: DeviceHandler.Shared) {
        self.shared = shared
    }

    func refused(
        _ refusal: Refusal,
        _ route: DeviceRoute,
        _ readers: CrossOrigin
    ) -> Response {
        var response = route.refused(refusal)
        shared.counters.countRefused(route.label, refusal, as: response.status)
        addRetryAfter(refusal, route.label, &response)
        // Also when the head could not be read: a refusal holds nothing secret, and a page can show
        // it.
        readers.add(to: &response)
        if refusal.status == 405 { response.fields.append(("allow", route.methods.names)) }
        // RFC 9110 section 11.6.1. SLS's SDKs ignore it.
        if response.status == 401, !route.label.isSLS {
            response.fields.append(("www-authenticate", "Bearer realm=\"sluice\""))
        }
        // RFC 9110 section 12.5.3.
        if refusal.code == "InvalidCompressType", case .logs(let dialect) = route {
            response.fields.append(("accept-encoding", dialect.contentEncodings))
        }
        response.label = route.label.rawValue
        return response
    }

    /// RFC 9110 section 10.2.3. SLS's SDKs ignore it.
    private func addRetryAfter(
        _ refusal: Refusal,
        _ label: DeviceLabel,
        _ response: inout Response
    ) {
        guard DeviceLabel.ofLogs.contains(label), !label.isSLS,
            response.status == 429 || response.status == 503
        else { return }
        response.fields.removeAll { $0.name == "retry-after" }
        response.fields.append(("retry-after", "\(refusal.problem.retryAfter ?? 1)"))
        // Pages can read only the fields that the answer exposes.
        guard refusal.problem.retryAfter != nil else { return }
        response.fields.append(("access-control-expose-headers", "retry-after"))
    }

    func preflight(
        _ route: DeviceRoute,
        _ headers: PreflightHeaders,
        _ readers: CrossOrigin
    ) -> Response {
        var response = Response(
            // Docker's Splunk driver begins with OPTIONS and accepts only 200.
            status: route.label == .splunk ? 200 : 204,
            fields: [
                ("allow", route.methods.names),
                ("access-control-allow-methods", route.methods.names),
                ("access-control-allow-headers", headers.names),
                ("access-control-max-age", "86400"),
            ]
        )
        readers.add(to: &response)
        response.label = route.label.rawValue
        return response
    }

    func page(_ page: DevicePage) -> Response {
        var response = page.response
        response.label = page.label.rawValue
        return response
    }
}

/// Adds the fields of every answer: that any page may read it, the time, then its receipt or a new
/// one. In lower case, since the iOS SDK looks for exactly these names. The receipt is the last
/// field: SDKs in C take the last line that begins with `x-log-` for it.
package struct Stamp {
    private let mint: ReceiptMint
    private var second: Int64 = -1
    private var timeFields: [UInt8] = []

    package init(mint: ReceiptMint) {
        self.mint = mint
    }

    /// Appends to an answer's head, which is complete except for the blank line.
    package mutating func apply(
        to head: inout [UInt8],
        of response: Response,
        now: WallTime = .now
    ) {
        if now.seconds != second {
            second = now.seconds
            timeFields = Array("x-log-time: \(second)\r\ndate: \(now.httpDate)\r\n".utf8)
        }
        if response.isForAnyPage {
            head.append(ascii: "access-control-allow-origin: *\r\nvary: Origin\r\n")
        }
        head += timeFields
        head.append(ascii: "x-log-requestid: ")
        if let receipt = response.receipt { head += receipt } else { head += mint.next() }
        head.append(ascii: "\r\n")
    }
}

/// Issues receipts: 24 upper-case hexadecimal digits that never repeat, like SLS's request ids.
///
/// One half is random for each life of the process, the other half counts. A receipt is a name, not
/// a secret.
package final class ReceiptMint: Sendable {
    /// A receipt with zeros for its count.
    private let blank: [UInt8]
    private let counter: Atomic<UInt64>

    package init() {
        blank = Array((hex(randomBytes(6), upper: true) + "000000000000").utf8)
        // Starts at a random number, so that the receipts of two new processes look different.
        let start = randomBytes(3).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        counter = Atomic(start)
    }

    package func next() -> [UInt8] {
        let number = counter.wrappingAdd(1, ordering: .relaxed).newValue
        var receipt = blank
        for place in 12..<24 {
            let digit = UInt8(truncatingIfNeeded: number >> UInt64(4 * (23 - place))) & 15
            receipt[place] =
                digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10
        }
        return receipt
    }
}
