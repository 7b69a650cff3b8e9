import CCurl
import System

/// curl's multi handle: concurrent transfers on one thread with shared connections.
///
/// Unchecked because of the raw handle. Invariant: all calls except `wake` come from one thread, or
/// from before that thread starts and after it ends. curl allows `curl_multi_wakeup` on any thread,
/// and its caller holds a reference, so the handle still exists.
package final class TransferLoop: @unchecked Sendable {
    /// A descriptor that also ends a wait.
    package enum Watch {
        case readable(CInt)
        /// Ready when the other end of a pipe closes.
        case broken(CInt)
    }

    private let handle: UnsafeMutableRawPointer
    /// curl failed in a way that ends no transfer.
    private(set) var isBroken = false

    private static let isInitialized = sluice_curl_initialize() == CURLE_OK

    /// `connections` bounds the open connections to all hosts together.
    package init(connections: Int) throws(CurlUnavailable) {
        guard Self.isInitialized, let handle = curl_multi_init() else { throw CurlUnavailable() }
        self.handle = handle
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
        curl_multi_wakeup(handle)
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

    /// Advances all transfers without waiting; returns how many ended.
    package func perform() -> Int {
        var running: CInt = 0
        if curl_multi_perform(handle, &running) != CURLM_OK { isBroken = true }
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
        let milliseconds = CInt(clamping: timeout.milliseconds)
        guard let watch else {
            curl_multi_poll(handle, nil, 0, milliseconds, nil)
            return
        }
        var entry = curl_waitfd()
        switch watch {
        case .readable(let descriptor):
            entry.fd = descriptor
            entry.events = Int16(CURL_WAIT_POLLIN)
        // poll always reports errors and hang-ups.
        case .broken(let descriptor): entry.fd = descriptor
        }
        if curl_multi_poll(handle, &entry, 1, milliseconds, nil) != CURLM_OK { isBroken = true }
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
    package var description: String { "libcurl cannot start; is the machine out of memory?" }
}
