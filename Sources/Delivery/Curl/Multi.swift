import CCurl
import System

/// curl's multi handle: transfers side by side on one thread, sharing their connections.
///
/// Unchecked because of the raw handle. The invariant: every call but `wake` is made on the delivery
/// thread, or before it starts and after it ended; curl allows `curl_multi_wakeup` on any thread, and
/// whoever wakes holds a reference, so that the handle is still there.
final class Multi: @unchecked Sendable {
    private let handle: UnsafeMutableRawPointer

    private static let isInitialized = sluice_curl_initialize() == CURLE_OK

    /// `connections` is how many may be open at once, to all hosts together.
    init(connections: Int) throws(DeliveryError) {
        guard Self.isInitialized, let handle = curl_multi_init() else {
            throw DeliveryError(
                description: "libcurl does not start; is the machine out of memory?"
            )
        }
        self.handle = handle
        allow(connections: connections)
    }

    /// What is in flight is bounded by each destination already; this bounds what idles.
    func allow(connections: Int) {
        set(CURLMOPT_MAXCONNECTS, connections)
        set(CURLMOPT_MAX_TOTAL_CONNECTIONS, connections)
        set(CURLMOPT_MAX_HOST_CONNECTIONS, connections)
    }

    deinit { curl_multi_cleanup(handle) }

    /// Ends the current wait, or the next one at once.
    func wake() {
        curl_multi_wakeup(handle)
    }

    func add(_ transfer: Transfer) {
        let code = curl_multi_add_handle(handle, transfer.easy)
        precondition(code == CURLM_OK, "a transfer is added once, when it is ready")
    }

    func remove(_ transfer: Transfer) {
        curl_multi_remove_handle(handle, transfer.easy)
    }

    /// Moves all transfers on, without waiting, and takes out those that ended.
    func perform(_ ended: (Transfer, CURLcode) -> Void) {
        var running: CInt = 0
        curl_multi_perform(handle, &running)
        var left: CInt = 0
        while let message = curl_multi_info_read(handle, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else {
                continue
            }
            // The message is gone once its transfer is removed.
            let result = message.pointee.data.result
            let transfer = Transfer.of(easy)
            remove(transfer)
            ended(transfer, result)
        }
    }

    /// Sleeps until a transfer can go on, somebody wakes, or the time is over.
    func wait(_ timeout: Duration) {
        curl_multi_poll(handle, nil, 0, CInt(clamping: timeout.milliseconds), nil)
    }

    private func set(_ option: CURLMoption, _ value: Int) {
        sluice_curl_set_multi_number(handle, option, value)
    }
}
