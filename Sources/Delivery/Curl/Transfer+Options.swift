import CCurl
import Crypto
import System

extension Transfer {
    /// What all requests of a destination have in common.
    func setLastingOptions(_ settings: DestinationSettings) {
        number(CURLOPT_POST, 1)
        number(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        // Signals belong to the process, not to a library's timeouts.
        number(CURLOPT_NOSIGNAL, 1)

        // The answer comes from where the request went, or it is no answer.
        text(CURLOPT_PROTOCOLS_STR, "http,https")
        number(CURLOPT_FOLLOWLOCATION, 0)
        setProxy(settings.proxy)
        number(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))

        number(CURLOPT_SSL_VERIFYPEER, 1)
        number(CURLOPT_SSL_VERIFYHOST, 2)
        number(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let file = settings.certificateAuthorities {
            text(CURLOPT_CAINFO, file)
            // Otherwise the system's directory would be searched as well.
            text(CURLOPT_CAPATH, nil)
            text(CURLOPT_PROXY_CAINFO, file)
            text(CURLOPT_PROXY_CAPATH, nil)
            // curl would keep the parsed file for a day, whatever becomes of it meanwhile.
            number(CURLOPT_CA_CACHE_TIMEOUT, 0)
        }

        number(CURLOPT_CONNECTTIMEOUT_MS, Int(settings.connectTimeout.milliseconds))
        number(CURLOPT_LOW_SPEED_LIMIT, 1)
        let stallTimeout = settings.stallTimeout ?? settings.sendTimeout
        number(CURLOPT_LOW_SPEED_TIME, Int((stallTimeout.milliseconds + 999) / 1000))

        // Middleboxes forget idle connections without a word.
        number(CURLOPT_TCP_KEEPALIVE, 1)
        number(CURLOPT_TCP_KEEPIDLE, 30)
        number(CURLOPT_TCP_KEEPINTVL, 15)
        // A packet's body has hundreds of kilobytes; curl's default of 64 KiB costs more calls.
        number(CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10)
    }

    /// http_proxy, no_proxy and their relatives are not obeyed: a variable left in the environment must
    /// not decide where logs go.
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
        // The headers of a request, signature and token among them, are for SLS alone; and what the
        // proxy says when it connects is not SLS's answer.
        number(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        number(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    }

    /// SLS's addresses change; a connection in steady use would never notice.
    private static let connectionLifetime: Duration = .seconds(600)

    /// Keeps the request off connections from before that moment: they lead through a proxy, or were
    /// verified by a file of authorities, that is no longer in the settings. curl tells other hosts,
    /// ports and file names apart, but not another password of a proxy or another content of a file. Its
    /// connections are shared by all transfers, and their ages, in whole seconds, are all it can be
    /// asked for.
    func avoidConnections(before moment: Moment?, _ now: Moment) {
        let age = moment.map { min(now - $0, Self.connectionLifetime) } ?? Self.connectionLifetime
        let seconds = Int(age.components.seconds)
        number(CURLOPT_FRESH_CONNECT, seconds < 2 ? 1 : 0)
        number(CURLOPT_MAXLIFETIME_CONN, max(1, seconds - 1))
    }

    func setTimeLimit(_ limit: Duration) {
        number(CURLOPT_TIMEOUT_MS, Int(limit.milliseconds))
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
