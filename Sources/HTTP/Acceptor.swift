import Net
import System

/// How connections come into a loop: its listener, what a new client has to show, and what is told
/// of refusals.
struct Acceptor {
    /// nil once the server stops.
    var listener: Listener?
    let tls: TLSContext?
    let proxies: ProxyTrust?
    let journal: Journal
    let notices: RefusalNotices

    /// The listener is not watched, because no connection could be accepted.
    var isPaused = false
    var lastPauseWarning: Moment?
    /// Connections that are being refused; no other limit counts them.
    var refusedCount = 0
}
