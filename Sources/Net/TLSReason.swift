import COpenSSL

/// OpenSSL's own words about the last thing that failed on this thread.
enum TLSReason {
    /// Forgets it, so that it is not taken for the reason of what comes next.
    static func take() -> String {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else {
            return "no reason given"
        }
        return String(cString: reason)
    }
}
