import CCurl
import Glibc

extension AdminClient {
    /// How an answer that comes over time ended.
    enum StreamEnd {
        /// The gateway answered something else.
        case refused(AdminAnswer)
        case unreachable(Unreachable)
        /// It had begun; the gateway ended it, or the way there broke.
        case over
        /// Whoever took it has enough, or nobody reads standard output any more.
        case left
    }

    /// The gateway says something every 15 seconds.
    private static let silenceMax = 45

    /// Gives the body of a 200 piece by piece, as long as it is taken.
    func follow(_ request: AdminRequest, take: @escaping ([UInt8]) -> Bool) -> StreamEnd {
        guard sluice_curl_initialize() == CURLE_OK, let easy = curl_easy_init() else {
            return .unreachable(.noCurl)
        }
        let details = ErrorDetails(easy)
        defer { withExtendedLifetime(details) { curl_easy_cleanup(easy) } }
        guard let multi = curl_multi_init() else { return .unreachable(.noCurl) }
        defer { curl_multi_cleanup(multi) }
        let fields: UnsafeMutablePointer<curl_slist>?
        do throws(Unreachable) {
            fields = try prepare(easy, request)
        } catch {
            return .unreachable(error)
        }
        defer { curl_slist_free_all(fields) }
        sluice_curl_set_number(easy, CURLOPT_LOW_SPEED_LIMIT, 1)
        sluice_curl_set_number(easy, CURLOPT_LOW_SPEED_TIME, Self.silenceMax)
        let incoming = Incoming(easy, take)
        return withExtendedLifetime(incoming) {
            sluice_curl_set_pointer(
                easy,
                CURLOPT_WRITEDATA,
                Unmanaged.passUnretained(incoming).toOpaque()
            )
            sluice_curl_set_receiver(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, place in
                Incoming.at(place).take(.init(start: bytes, count: size * count))
            }
            curl_multi_add_handle(multi, easy)
            defer { curl_multi_remove_handle(multi, easy) }
            guard let code = transfer(multi) else { return .left }
            return incoming.end ?? .unreachable(unreachable(easy, code, details))
        }
    }

    /// Nil when nobody reads standard output any more: that is noticed without a log that comes.
    private func transfer(_ multi: UnsafeMutableRawPointer) -> CURLcode? {
        while !StandardOutput.isGone {
            var running: CInt = 0
            curl_multi_perform(multi, &running)
            var left: CInt = 0
            if let message = curl_multi_info_read(multi, &left) {
                return message.pointee.data.result
            }
            var reader = curl_waitfd(fd: StandardOutput.descriptor, events: 0, revents: 0)
            curl_multi_poll(multi, &reader, 1, 1000, nil)
        }
        return nil
    }
}

/// What has come of an answer that comes over time.
private final class Incoming {
    private static let refusalBytesMax = 64 << 10

    private let easy: UnsafeMutableRawPointer
    private let forward: ([UInt8]) -> Bool
    private var refusal: [UInt8] = []
    private var hasEnough = false

    init(_ easy: UnsafeMutableRawPointer, _ forward: @escaping ([UInt8]) -> Bool) {
        self.easy = easy
        self.forward = forward
    }

    static func at(_ place: UnsafeMutableRawPointer?) -> Incoming {
        guard let place else { preconditionFailure("set before the transfer") }
        return Unmanaged<Incoming>.fromOpaque(place).takeUnretainedValue()
    }

    /// Less than what came ends the transfer.
    func take(_ piece: UnsafeRawBufferPointer) -> Int {
        guard isStream else {
            refusal += piece.prefix(Self.refusalBytesMax - refusal.count)
            return piece.count
        }
        hasEnough = !forward(Array(piece))
        return hasEnough ? 0 : piece.count
    }

    /// Nil when nothing came.
    var end: AdminClient.StreamEnd? {
        if hasEnough { return .left }
        if isStream { return .over }
        return status > 0 ? .refused(AdminAnswer(status: status, body: refusal)) : nil
    }

    private var status: Int {
        var status = 0
        sluice_curl_get_number(easy, CURLINFO_RESPONSE_CODE, &status)
        return status
    }

    /// Another server may be where the gateway is looked for.
    private var isStream: Bool {
        var type: UnsafeMutableRawPointer?
        sluice_curl_get_pointer(easy, CURLINFO_CONTENT_TYPE, &type)
        guard status == 200, let type else { return false }
        return String(cString: type.assumingMemoryBound(to: CChar.self))
            .lowercased().hasPrefix("text/event-stream")
    }
}
