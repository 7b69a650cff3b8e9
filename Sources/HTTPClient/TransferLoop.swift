import CCurl
import System

/// curl's multi handle: concurrent transfers on one thread with shared connections.
///
/// Unchecked because of the raw handle and the events. Invariant: all calls except `wake` come from
/// one thread, or from before that thread starts and after it ends. A `WakeUp` is for any thread.
package final class TransferLoop: @unchecked Sendable {
    /// A descriptor that also ends a wait.
    package enum Watch {
        case readable(CInt)
        /// Ready when the other end of a pipe closes.
        case broken(CInt)
    }

    private let handle: UnsafeMutableRawPointer
    private let events: SocketEvents
    private var hasFailed = false
    /// curl failed in a way that ends no transfer.
    var isBroken: Bool { hasFailed || events.isBroken }

    private static let isInitialized = sluice_curl_initialize() == CURLE_OK

    /// `connections` bounds the open connections to all hosts together.
    package init(connections: Int) throws(CurlUnavailable) {
        guard Self.isInitialized, let events = try? SocketEvents(), let handle = curl_multi_init()
        else { throw CurlUnavailable() }
        self.handle = handle
        self.events = events
        events.attach(to: handle)
        allow(connections: connections)
    }

    /// Changes the bound. Senders already bound requests in flight, so this bounds idle
    /// connections.
    package func allow(connections: Int) {
        set(CURLMOPT_MAXCONNECTS, connections)
        set(CURLMOPT_MAX_TOTAL_CONNECTIONS, connections)
        set(CURLMOPT_MAX_HOST_CONNECTIONS, connections)
    }

    deinit { curl_multi_cleanup(handle) }

    /// Ends the current wait, or else the next one.
    package func wake() {
        events.wakeUp.signal()
    }

    /// Starts a prepared transfer. `perform` calls `whenDone` when it ends, unless it is cancelled.
    package func start(
        _ transfer: Transfer,
        whenDone: @escaping (Transfer, TransferOutcome) -> Void
    ) {
        let code = curl_multi_add_handle(handle, transfer.easy)
        precondition(code == CURLM_OK, "a transfer is started once, when it is prepared")
        transfer.whenDone = whenDone
    }

    package func cancel(_ transfer: Transfer) {
        curl_multi_remove_handle(handle, transfer.easy)
        transfer.whenDone = nil
    }

    /// Advances what can go on without waiting; returns how many transfers ended.
    package func perform() -> Int {
        events.takeReady { advance($0.socket, $0.events) }
        if events.takeTimeout() { advance(CURL_SOCKET_TIMEOUT, 0) }
        if events.takeLostConnecting() { advanceAll() }
        var ended = 0
        var left: CInt = 0
        while let message = curl_multi_info_read(handle, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else {
                continue
            }
            // Removing the transfer frees the message, so its result is read first.
            let result = message.pointee.data.result
            let transfer = Transfer.of(easy)
            let whenDone = transfer.whenDone
            cancel(transfer)
            ended += 1
            whenDone?(transfer, transfer.outcome(result))
            // An idle transfer holds no body, and a finished one holds no secret.
            if transfer.whenDone == nil { transfer.dropBody() }
        }
        return ended
    }

    /// Sleeps until a transfer can continue, `wake` is called, the watched descriptor is ready, or
    /// the timeout passes.
    package func wait(_ timeout: Duration, watching watch: Watch? = nil) {
        events.wait(timeout, watching: watch)
    }

    private func advanceAll() {
        var running: CInt = 0
        if sluice_curl_advance_all(handle, &running) != CURLM_OK { hasFailed = true }
    }

    private func advance(_ socket: curl_socket_t, _ events: CInt) {
        var running: CInt = 0
        if curl_multi_socket_action(handle, socket, events, &running) != CURLM_OK {
            hasFailed = true
        }
    }

    private func set(_ option: CURLMoption, _ value: Int) {
        sluice_curl_set_multi_number(handle, option, value)
    }
}

extension TransferLoop {
    /// Performs one prepared transfer on the calling thread. Returns nil when the caller gives up,
    /// at once if the watched descriptor signals it.
    package func run(
        _ transfer: Transfer,
        watching watch: Watch? = nil,
        until isGivenUp: () -> Bool = { false }
    ) -> TransferOutcome? {
        var outcome: TransferOutcome?
        transfer.leaveQuickly()
        start(transfer) { outcome = $1 }
        while !isGivenUp() {
            _ = perform()
            if let outcome { return outcome }
            if isBroken {
                cancel(transfer)
                return transfer.outcome(CURLE_FAILED_INIT)
            }
            wait(.seconds(1), watching: watch)
        }
        cancel(transfer)
        return nil
    }
}

/// libcurl cannot be initialised.
package struct CurlUnavailable: Error, CustomStringConvertible {
    package var description: String { "libcurl cannot start; is memory or a descriptor missing?" }
}
