import COpenSSL

/// OpenSSL's own text for the last failure on this thread.
enum TLSReason {
    /// Returns the text and clears it, so that it is not taken for the reason of a later failure.
    static func take() -> String {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else {
            return "no reason given"
        }
        return String(cString: reason)
    }
}
