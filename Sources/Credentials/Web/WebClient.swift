import CCurl
import SLS
import System

/// Asks one thing of one server and waits for the answer: no redirects, no proxy, certificates always
/// verified, everything bounded.
package struct WebClient: Sendable {
    let interruption: Interruption

    package init(interruption: Interruption) {
        self.interruption = interruption
    }

    private static let isInitialized = sluice_curl_initialize() == CURLE_OK

    func ask(_ request: WebRequest) throws(WebFailure) -> WebAnswer {
        guard Self.isInitialized, let easy = curl_easy_init() else {
            throw .noAnswer("libcurl does not start")
        }
        defer { curl_easy_cleanup(easy) }
        setOptions(easy, request)

        var lines: UnsafeMutablePointer<curl_slist>?
        for line in request.headers + ["Accept: application/json", "Expect:"] {
            lines = curl_slist_append(lines, line)
        }
        defer { curl_slist_free_all(lines) }
        sluice_curl_set_list(easy, CURLOPT_HTTPHEADER, lines)

        let form = request.form.map { encoded($0) }
        let received = ReceivedBody(isWanted: request.isBodyWanted)
        received.attach(to: easy)
        let code = withExtendedLifetime(received) {
            (form?.bytes ?? request.content ?? []).withUnsafeBytes { bytes in
                if form != nil || request.content != nil {
                    sluice_curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
                    sluice_curl_set_pointer(easy, CURLOPT_POSTFIELDS, bytes.baseAddress)
                }
                return perform(easy)
            }
        }
        guard let code else { throw .interrupted }
        if received.isTooLarge { throw .tooLarge }
        guard code == CURLE_OK || received.isLeftOut else {
            throw .noAnswer(String(cString: curl_easy_strerror(code)))
        }
        var status = 0
        sluice_curl_get_number(easy, CURLINFO_RESPONSE_CODE, &status)
        return WebAnswer(status: status, date: received.date, body: received.body)
    }

    private func setOptions(_ easy: UnsafeMutableRawPointer, _ request: WebRequest) {
        func number(_ option: CURLoption, _ value: Int) {
            sluice_curl_set_number(easy, option, value)
        }
        sluice_curl_set_text(easy, CURLOPT_URL, request.url)
        sluice_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method)
        sluice_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        // A variable left in the environment must not decide who sees a token.
        sluice_curl_set_text(easy, CURLOPT_PROXY, "")
        sluice_curl_set_text(easy, CURLOPT_USERAGENT, "sluice")
        number(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        number(CURLOPT_NOSIGNAL, 1)
        number(CURLOPT_FOLLOWLOCATION, 0)
        number(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        number(CURLOPT_SSL_VERIFYPEER, 1)
        number(CURLOPT_SSL_VERIFYHOST, 2)
        if let file = request.authorities { sluice_curl_set_text(easy, CURLOPT_CAINFO, file) }
        number(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        number(CURLOPT_CONNECTTIMEOUT_MS, Int(request.limits.connect.milliseconds))
        number(CURLOPT_TIMEOUT_MS, Int(request.limits.total.milliseconds))
        // Nobody waits for a name server when the program ends.
        number(CURLOPT_QUICK_EXIT, 1)
    }

    /// nil when it was interrupted.
    private func perform(_ easy: UnsafeMutableRawPointer) -> CURLcode? {
        guard let multi = curl_multi_init() else { return CURLE_OUT_OF_MEMORY }
        defer { curl_multi_cleanup(multi) }
        guard curl_multi_add_handle(multi, easy) == CURLM_OK else { return CURLE_OUT_OF_MEMORY }
        defer { curl_multi_remove_handle(multi, easy) }
        while !interruption.isSet {
            var running: CInt = 0
            // What went wrong here would never become a message.
            guard curl_multi_perform(multi, &running) == CURLM_OK else {
                return CURLE_FAILED_INIT
            }
            var left: CInt = 0
            if let message = curl_multi_info_read(multi, &left) {
                return message.pointee.data.result
            }
            var wake = curl_waitfd(
                fd: interruption.descriptor,
                events: Int16(CURL_WAIT_POLLIN),
                revents: 0
            )
            guard curl_multi_poll(multi, &wake, 1, 1000, nil) == CURLM_OK else {
                return CURLE_FAILED_INIT
            }
        }
        return nil
    }

    private func encoded(_ form: [(name: String, value: String)]) -> WipedBytes {
        let text = form.map { "\(percentEncoded($0.name))=\(percentEncoded($0.value))" }
            .joined(separator: "&")
        let bytes = WipedBytes(countMax: text.utf8.count)
        _ = Array(text.utf8).withUnsafeBytes { bytes.append($0) }
        return bytes
    }
}
