import CCurl
package import Configuration
import Crypto
import Glibc
import Net
import SLS

/// Talks to the admin listener of a running gateway: one request at a time, waiting for the answer.
package struct AdminClient: Sendable {
    /// No answer at all, in one sentence with the remedy.
    package struct Unreachable: Error, Equatable, CustomStringConvertible {
        package let description: String

        static let noCurl = Unreachable(
            description: "libcurl does not start; is the machine out of memory?"
        )
    }

    private let access: AdminAccess
    private let patience: Duration

    package init(_ access: AdminAccess, patience: Duration = .seconds(120)) {
        self.access = access
        self.patience = patience
    }

    package func ask(_ request: AdminRequest) throws(Unreachable) -> AdminAnswer {
        guard sluice_curl_initialize() == CURLE_OK, let easy = curl_easy_init() else {
            throw .noCurl
        }
        let details = ErrorDetails(easy)
        defer { withExtendedLifetime(details) { curl_easy_cleanup(easy) } }
        let fields = try prepare(easy, request)
        defer { curl_slist_free_all(fields) }
        sluice_curl_set_number(easy, CURLOPT_TIMEOUT_MS, Int(patience / .milliseconds(1)))

        // A request whose body is none is sent as one of length nothing.
        let body = request.body ?? []
        let (code, answer) = body.withUnsafeBytes { bytes in
            if request.method != .get {
                sluice_curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
                sluice_curl_set_pointer(easy, CURLOPT_POSTFIELDS, bytes.baseAddress ?? emptyBody)
            }
            return receive(easy)
        }
        guard code == CURLE_OK else {
            if code == CURLE_OPERATION_TIMEDOUT, wasSent(easy) {
                throw Unreachable(description: tooLate(request))
            }
            throw unreachable(easy, code, details)
        }
        // What a listener with TLS answers to whoever begins without.
        let said = "this port speaks TLS"
        if access.tls == nil, answer.status == 400, answer.text.contains(said) {
            let failure = ConnectionFailure(
                code: CURLE_WEIRD_SERVER_REPLY,
                details: said,
                verdict: 0,
                access: access
            )
            throw Unreachable(description: failure.description)
        }
        return answer
    }

    /// Says where, what and as whom; the fields are the caller's to free when the transfer is over.
    func prepare(
        _ easy: UnsafeMutableRawPointer,
        _ request: AdminRequest
    ) throws(Unreachable) -> UnsafeMutablePointer<curl_slist>? {
        let url = "\(access.tls == nil ? "http" : "https")://\(access.address)\(request.target)"
        sluice_curl_set_text(easy, CURLOPT_URL, url)
        if let tls = access.tls { try secure(easy, tls) }
        sluice_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        sluice_curl_set_text(easy, CURLOPT_PROXY, "")
        sluice_curl_set_number(easy, CURLOPT_NOSIGNAL, 1)
        sluice_curl_set_number(easy, CURLOPT_CONNECTTIMEOUT, 5)

        var lines = ["Accept: \(request.accept)", "Expect:"]
        if let token = access.token { lines.append("Authorization: Bearer \(token.revealed)") }
        if request.body != nil { lines.append("Content-Type: application/json") }
        var fields: UnsafeMutablePointer<curl_slist>?
        for line in lines { fields = curl_slist_append(fields, line) }
        sluice_curl_set_list(easy, CURLOPT_HTTPHEADER, fields)
        return fields
    }

    func unreachable(
        _ easy: UnsafeMutableRawPointer,
        _ code: CURLcode,
        _ details: ErrorDetails
    ) -> Unreachable {
        var verdict = 0
        sluice_curl_get_number(easy, CURLINFO_SSL_VERIFYRESULT, &verdict)
        let failure = ConnectionFailure(
            code: code,
            details: details.text,
            verdict: verdict,
            access: access
        )
        return Unreachable(description: failure.description)
    }

    private func secure(
        _ easy: UnsafeMutableRawPointer,
        _ tls: AdminTLS
    ) throws(Unreachable) {
        sluice_curl_set_number(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        sluice_curl_set_number(easy, CURLOPT_SSL_VERIFYPEER, 1)
        sluice_curl_set_number(easy, CURLOPT_SSL_VERIFYHOST, 2)
        switch tls.trust {
        case .system: break
        case .authorities(let file):
            try readable(file, "--admin-ca or admin.client.ca")
            trust(file, easy)
        case .certificate(let file):
            do throws(TLSError) {
                let pin = try CertificatePin(file: file)
                sluice_curl_set_text(easy, CURLOPT_PINNEDPUBLICKEY, pin.description)
            } catch {
                throw Unreachable(
                    description:
                        "\(error.description); or name the authority of the gateway's certificate "
                        + "with --admin-ca FILE"
                )
            }
            trust(file, easy)
            // The key says more than a name would.
            sluice_curl_set_number(easy, CURLOPT_SSL_VERIFYHOST, 0)
        }
        guard let certificate = tls.certificate else { return }
        try readable(certificate.chainFile, "--admin-cert or admin.client.certificate")
        try readable(certificate.keyFile, "--admin-key or admin.client.key")
        sluice_curl_set_text(easy, CURLOPT_SSLCERT, certificate.chainFile)
        sluice_curl_set_text(easy, CURLOPT_SSLKEY, certificate.keyFile)
        // Without one curl would ask for a passphrase at the terminal, and wait.
        sluice_curl_set_text(easy, CURLOPT_KEYPASSWD, "")
    }

    /// Nothing else is trusted.
    private func trust(_ file: String, _ easy: UnsafeMutableRawPointer) {
        sluice_curl_set_text(easy, CURLOPT_CAINFO, file)
        sluice_curl_set_text(easy, CURLOPT_CAPATH, nil)
    }

    /// curl does not say which of its files it cannot open, or why.
    private func readable(_ file: String, _ source: String) throws(Unreachable) {
        guard Glibc.access(file, R_OK) != 0 else { return }
        throw Unreachable(
            description:
                "\(file) cannot be read: \(String(cString: strerror(errno))); it is named by "
                + source
        )
    }

    private func wasSent(_ easy: UnsafeMutableRawPointer) -> Bool {
        var bytes = 0
        sluice_curl_get_number(easy, CURLINFO_REQUEST_SIZE, &bytes)
        return bytes > 0
    }

    /// Whoever does not wait for the end of a change has not ended it.
    private func tooLate(_ request: AdminRequest) -> String {
        let silence =
            "the gateway at \(access.address) has not answered within "
            + "\(Int(patience / .seconds(1))) s"
        return request.method == .get
            ? "\(silence); try again when it has less to do"
            : "\(silence), but it goes on with what it was asked; see what became of it: "
                + (request.path.contains("dead-letters")
                    ? "sluice status shows how many dead letters are left"
                    : "sluice status, and GET /admin/audit")
    }

    private func receive(_ easy: UnsafeMutableRawPointer) -> (CURLcode, AdminAnswer) {
        let collected = Collected()
        let code = withExtendedLifetime(collected) {
            let place = Unmanaged.passUnretained(collected).toOpaque()
            sluice_curl_set_pointer(easy, CURLOPT_WRITEDATA, place)
            sluice_curl_set_pointer(easy, CURLOPT_HEADERDATA, place)
            sluice_curl_set_receiver(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, place in
                Collected.at(place).take(body: .init(start: bytes, count: size * count))
            }
            sluice_curl_set_receiver(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, place in
                Collected.at(place).take(line: .init(start: bytes, count: size * count))
            }
            return curl_easy_perform(easy)
        }
        sluice_curl_get_number(easy, CURLINFO_RESPONSE_CODE, &collected.answer.status)
        return (code, collected.answer)
    }
}

/// curl's own words, where its code alone says too little. Must live as long as the handle.
final class ErrorDetails {
    private let place: UnsafeMutablePointer<CChar>

    init(_ easy: UnsafeMutableRawPointer) {
        place = .allocate(capacity: Int(CURL_ERROR_SIZE))
        place.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        sluice_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, place)
    }

    deinit { place.deallocate() }

    var text: String { String(cString: place) }
}

/// Where a body of length nothing starts.
private nonisolated(unsafe) let emptyBody = UnsafeRawPointer(bitPattern: 1)

/// What has come of an answer.
private final class Collected {
    /// A page of a thousand dead letters of 1 MiB each would not be printed anyway.
    static let bodyBytesMax = 256 << 20

    var answer = AdminAnswer()

    static func at(_ place: UnsafeMutableRawPointer?) -> Collected {
        guard let place else { preconditionFailure("set before the transfer") }
        return Unmanaged<Collected>.fromOpaque(place).takeUnretainedValue()
    }

    func take(body piece: UnsafeRawBufferPointer) -> Int {
        guard answer.body.count + piece.count <= Self.bodyBytesMax else { return 0 }
        answer.body.append(contentsOf: piece)
        return piece.count
    }

    func take(line: UnsafeRawBufferPointer) -> Int {
        let text = String(decoding: line, as: UTF8.self)
        if let colon = text.firstIndex(of: ":"), text[..<colon].lowercased() == "x-sluice-next" {
            let value = text[text.index(after: colon)...]
            answer.next = value.split(whereSeparator: \.isWhitespace).first.map(String.init)
        }
        return line.count
    }
}
