import CCurl
import Crypto
import Glibc
package import System

/// One curl handle for one request after another. It follows no redirect, ignores the environment's
/// proxies, speaks only HTTP/1.1 and verifies every certificate.
package final class Transfer {
    /// The time at which the current request was prepared.
    package private(set) var started = Moment.now
    package private(set) var body = OutgoingBody()

    let easy: UnsafeMutableRawPointer
    /// Called once when the transfer ends; set while it runs.
    var whenDone: ((Transfer, TransferOutcome) -> Void)?

    /// A loop performs it.
    package var isRunning: Bool { whenDone != nil }

    private let connectionsSince: Moment?
    private var response = ReceivedResponse(ResponseUse(body: .none))
    private var headers = TextList()
    private var targets = TextList()
    private var target: ConnectTarget?
    private var connectsOnly = false
    /// Files that curl reads for each new connection.
    private var files: [(option: CURLoption, path: String)] = []
    private let errorText: UnsafeMutablePointer<CChar>

    package init(_ options: TransferOptions) {
        guard let easy = curl_easy_init() else { preconditionFailure("out of memory") }
        self.easy = easy
        connectionsSince = options.connectionsSince
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        setCallbacks()
        set(options)
    }

    deinit {
        curl_easy_cleanup(easy)
        errorText.deallocate()
    }

    static func of(_ easy: UnsafeMutableRawPointer) -> Transfer {
        var context: UnsafeMutableRawPointer?
        sluice_curl_get_pointer(easy, CURLINFO_PRIVATE, &context)
        return at(context)
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> Transfer {
        guard let context else { preconditionFailure("set when the transfer was made") }
        return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    }

    package func prepare(_ request: TransferRequest) {
        precondition(whenDone == nil, "a transfer carries one request at a time")
        response = ReceivedResponse(request.response)
        errorText[0] = 0
        started = .now
        text(CURLOPT_URL, request.url)
        for (option, path) in files { name(path, for: option) }
        setHeaders(request)
        avoidOldConnections(started)
        number(CURLOPT_TIMEOUT_MS, Int(request.timeLimit?.milliseconds ?? 0))
        if let content = request.body {
            number(CURLOPT_POST, 1)
            body = OutgoingBody(content)
            sluice_curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
        } else {
            number(CURLOPT_HTTPGET, 1)
            // A HEAD response may state a length but has no body.
            if request.method == "HEAD" { number(CURLOPT_NOBODY, 1) }
            body = OutgoingBody()
        }
        text(CURLOPT_CUSTOMREQUEST, request.method)
        setTarget(request)
    }

    /// Lets curl drop a transfer without waiting for a name server that does not answer. curl
    /// resolves names on its own thread, which cannot be interrupted.
    package func leaveQuickly() {
        number(CURLOPT_QUICK_EXIT, 1)
    }

    func outcome(_ result: CURLcode) -> TransferOutcome {
        let head = TransferResponse.Head(
            status: information(CURLINFO_RESPONSE_CODE),
            headers: response.headers
        )
        // A truncated response counts as none, whatever its head says: sending twice is better than
        // losing logs.
        guard result == CURLE_OK || response.isBodyLeftOut else {
            return .failed(
                TransferFailure(
                    code: CurlCode(result),
                    refusal: response.refusal,
                    detail: String(cString: errorText),
                    head: head,
                    route: route,
                    proxyStatus: information(CURLINFO_HTTP_CONNECTCODE),
                    certificateVerdict: information(CURLINFO_SSL_VERIFYRESULT),
                    isSent: information(CURLINFO_REQUEST_SIZE) > 0
                )
            )
        }
        return .answered(TransferResponse(head: head, route: route, body: response.body))
    }

    private var route: TransferRoute {
        var address: UnsafePointer<CChar>?
        sluice_curl_get_text(easy, CURLINFO_PRIMARY_IP, &address)
        var (connected, ready): (curl_off_t, curl_off_t) = (0, 0)
        sluice_curl_get_size(easy, CURLINFO_CONNECT_TIME_T, &connected)
        sluice_curl_get_size(easy, CURLINFO_PRETRANSFER_TIME_T, &ready)
        let isNew = information(CURLINFO_NUM_CONNECTS) > 0
        return TransferRoute(
            address: address.map { String(cString: $0) } ?? "",
            target: target,
            connectTime: isNew && connected > 0 ? .microseconds(connected) : nil,
            isConnected: ready > 0
        )
    }

    func dropBody() {
        body = OutgoingBody()
    }

    private func information(_ key: CURLINFO) -> Int {
        var value = 0
        sluice_curl_get_number(easy, key, &value)
        return value
    }

    // MARK: - Options

    private func setCallbacks() {
        let me = Unmanaged.passUnretained(self).toOpaque()
        sluice_curl_set_pointer(easy, CURLOPT_PRIVATE, me)
        sluice_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
        sluice_curl_set_pointer(easy, CURLOPT_WRITEDATA, me)
        sluice_curl_set_pointer(easy, CURLOPT_HEADERDATA, me)
        sluice_curl_set_pointer(easy, CURLOPT_READDATA, me)
        sluice_curl_set_pointer(easy, CURLOPT_SEEKDATA, me)
        // curl ends the transfer when the callback takes less than it got.
        sluice_curl_set_receiver(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
            let transfer = Transfer.at(context)
            let goesOn = transfer.response.receive(
                body: piece,
                status: transfer.information(CURLINFO_RESPONSE_CODE)
            )
            return goesOn ? size * count : 0
        }
        sluice_curl_set_receiver(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
            return Transfer.at(context).response.receive(headerLine: line) ? size * count : 0
        }
        sluice_curl_set_receiver(easy, CURLOPT_READFUNCTION) { bytes, size, count, context in
            let room = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
            return Transfer.at(context).body.take(into: room)
        }
        sluice_curl_set_seeker(easy) { context, offset, origin in
            // curl only ever rewinds to the beginning.
            guard offset == 0, origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
            Transfer.at(context).body.rewind()
            return CURL_SEEKFUNC_OK
        }
    }

    private func set(_ options: TransferOptions) {
        let version = options.offersHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
        number(CURLOPT_HTTP_VERSION, Int(version))
        // The process handles signals itself; a library's timeouts must not use them.
        number(CURLOPT_NOSIGNAL, 1)

        // Only the server that got the request may answer it.
        text(CURLOPT_PROTOCOLS_STR, "http,https")
        number(CURLOPT_FOLLOWLOCATION, 0)
        number(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        setProxy(options.proxy)

        number(CURLOPT_SSL_VERIFYPEER, 1)
        number(CURLOPT_SSL_VERIFYHOST, 2)
        number(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        switch options.trust {
        case .system: break
        case .authorities(let file): trustOnly(file)
        case .pinned(let file, let keyHash):
            trustOnly(file)
            text(CURLOPT_PINNEDPUBLICKEY, keyHash)
            // The pinned key proves more than a name would.
            number(CURLOPT_SSL_VERIFYHOST, 0)
        }
        if let certificate = options.clientCertificate {
            files += [
                (CURLOPT_SSLCERT, certificate.chainFile), (CURLOPT_SSLKEY, certificate.keyFile),
            ]
            // Without a passphrase, curl would ask for one on the terminal and block.
            text(CURLOPT_KEYPASSWD, "")
        }

        number(CURLOPT_CONNECTTIMEOUT_MS, Int(options.connectTimeout.milliseconds))
        if let stallTimeout = options.stallTimeout {
            number(CURLOPT_LOW_SPEED_LIMIT, 1)
            number(CURLOPT_LOW_SPEED_TIME, Int((stallTimeout.milliseconds + 999) / 1000))
        }

        // Middleboxes drop idle connections silently.
        number(CURLOPT_TCP_KEEPALIVE, 1)
        number(CURLOPT_TCP_KEEPIDLE, 30)
        number(CURLOPT_TCP_KEEPINTVL, 15)
        // A packet's body has hundreds of kilobytes; curl's default of 64 KiB costs more calls.
        number(CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10)
    }

    private func trustOnly(_ file: String) {
        files += [(CURLOPT_CAINFO, file), (CURLOPT_PROXY_CAINFO, file)]
        // Without this, curl also searches the system's directory.
        text(CURLOPT_CAPATH, nil)
        text(CURLOPT_PROXY_CAPATH, nil)
        // curl would otherwise keep the parsed file for a day, even if the file changes.
        number(CURLOPT_CA_CACHE_TIMEOUT, 0)
    }

    /// A pipe would hold the thread, and with it all transfers, until somebody writes. As the path
    /// of a directory it is an error that names it.
    private func name(_ path: String, for option: CURLoption) {
        var facts = stat()
        let isFile = stat(path, &facts) != 0 || facts.st_mode & S_IFMT == S_IFREG
        text(option, isFile ? path : path + "/")
    }

    /// Ignores http_proxy, no_proxy and similar variables: a leftover variable must not decide
    /// where logs go or who sees a token.
    private func setProxy(_ proxy: Proxy?) {
        text(CURLOPT_PROXY, proxy?.address ?? "")
        text(CURLOPT_NOPROXY, "")
        guard let proxy else { return }
        text(CURLOPT_PROXYUSERNAME, proxy.user)
        text(CURLOPT_PROXYPASSWORD, proxy.password?.revealed)
        number(CURLOPT_PROXYAUTH, Int(sluice_curl_auth_basic))
        number(CURLOPT_SOCKS5_AUTH, Int(sluice_curl_auth_basic))
        number(CURLOPT_PROXY_SSL_VERIFYPEER, 1)
        number(CURLOPT_PROXY_SSL_VERIFYHOST, 2)
        number(CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        // Sends the request's headers, signature and token included, only to the server. Keeps the
        // proxy's answer to CONNECT apart from the server's.
        number(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        number(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    }

    /// Changes only what is different: most requests go where the one before went.
    private func setTarget(_ request: TransferRequest) {
        if target != request.target {
            target = request.target
            var list = TextList()
            if let target { list.append(target.line) }
            sluice_curl_set_list(easy, CURLOPT_CONNECT_TO, list.first)
            targets = list
        }
        if connectsOnly != request.connectsOnly {
            connectsOnly = request.connectsOnly
            number(CURLOPT_CONNECT_ONLY, connectsOnly ? 1 : 0)
        }
    }

    private func setHeaders(_ request: TransferRequest) {
        var list = TextList()
        for line in request.headers { list.append(line) }
        // Suppresses the Expect and Accept headers that curl adds by itself. Waiting for a 100
        // Continue would cost a round trip, or a second with a server that sends none.
        list.append("Expect:")
        list.append(request.accept.map { "Accept: \($0)" } ?? "Accept:")
        sluice_curl_set_list(easy, CURLOPT_HTTPHEADER, list.first)
        headers = list
    }

    /// A server's addresses change, and a connection in steady use would never notice.
    private static let connectionLifetime: Duration = .seconds(600)

    /// Avoids connections made before `connectionsSince`: they use a proxy, or a verified authority
    /// file, that is no longer in the settings. curl separates connections by host, port and file
    /// name, but not by a proxy's password or a file's content. All transfers share curl's
    /// connections, and curl measures their age in whole seconds.
    private func avoidOldConnections(_ now: Moment) {
        let age = connectionsSince.map { min(now - $0, Self.connectionLifetime) }
        let seconds = Int((age ?? Self.connectionLifetime).components.seconds)
        number(CURLOPT_FRESH_CONNECT, seconds < 2 ? 1 : 0)
        number(CURLOPT_MAXLIFETIME_CONN, max(1, seconds - 1))
    }

    private func number(_ option: CURLoption, _ value: Int) {
        let code = sluice_curl_set_number(easy, option, value)
        precondition(code == CURLE_OK, "curl knows option \(option.rawValue)")
    }

    private func text(_ option: CURLoption, _ value: String?) {
        let code = sluice_curl_set_text(easy, option, value)
        precondition(code == CURLE_OK, "curl knows option \(option.rawValue)")
    }
}

/// Lines as the linked list that curl takes.
struct TextList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    init() {}

    mutating func append(_ line: String) {
        // The call fails only without memory, and then Swift itself stops too.
        guard let list = curl_slist_append(first, line) else {
            preconditionFailure("out of memory")
        }
        first = list
    }

    deinit { curl_slist_free_all(first) }
}
