import CCurl
import Glibc
import SLS
import System

/// One place in flight: a curl handle that is used again and again, and what it carries just now.
final class Transfer {
    let easy: UnsafeMutableRawPointer
    private(set) var load: Load?
    private(set) var started = Moment.now
    fileprivate(set) var answer = ReceivedAnswer()
    fileprivate(set) var body = OutgoingBody()

    /// Which of a destination's settings, one after another, it was made for.
    let generation: Int

    private let settings: DestinationSettings
    private let connectionsSince: Moment?
    private var headers = HeaderList()
    private let errorText: UnsafeMutablePointer<CChar>

    /// Connections from before `connectionsSince` are not used, when it is given.
    init(
        _ settings: DestinationSettings,
        generation: Int = 0,
        connectionsSince: Moment? = nil
    ) {
        guard let easy = curl_easy_init() else { preconditionFailure("out of memory") }
        self.easy = easy
        self.settings = settings
        self.generation = generation
        self.connectionsSince = connectionsSince
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        let me = Unmanaged.passUnretained(self).toOpaque()
        sluice_curl_set_pointer(easy, CURLOPT_PRIVATE, me)
        sluice_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
        sluice_curl_set_pointer(easy, CURLOPT_WRITEDATA, me)
        sluice_curl_set_pointer(easy, CURLOPT_HEADERDATA, me)
        sluice_curl_set_pointer(easy, CURLOPT_READDATA, me)
        sluice_curl_set_pointer(easy, CURLOPT_SEEKDATA, me)
        sluice_curl_set_receiver(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
            return Transfer.at(context).answer.receive(body: piece) ? size * count : 0
        }
        sluice_curl_set_receiver(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
            return Transfer.at(context).answer.receive(headerLine: line) ? size * count : 0
        }
        sluice_curl_set_receiver(easy, CURLOPT_READFUNCTION) { bytes, size, count, context in
            let room = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
            return Transfer.at(context).body.take(into: room)
        }
        sluice_curl_set_seeker(easy) { context, offset, origin in
            // All that curl ever asks for is the beginning.
            guard offset == 0, origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
            Transfer.at(context).body.rewind()
            return CURL_SEEKFUNC_OK
        }
        setLastingOptions(settings)
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

    /// Gets ready to post the request.
    func prepare(_ request: SLSOutput.Request, _ load: Load?) {
        self.load = load
        answer = ReceivedAnswer()
        errorText[0] = 0
        started = .now
        sluice_curl_set_text(easy, CURLOPT_URL, request.url)
        setHeaders(request.headers)
        avoidConnections(before: connectionsSince, started)
        setTimeLimit(settings.timeLimit(bodyBytes: request.body.count))
        body = OutgoingBody(request.body)
        sluice_curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
    }

    private func setHeaders(_ fields: [SLSRequest.Field]) {
        var list = HeaderList()
        for field in fields {
            list.append("\(field.name): \(field.value)")
        }
        // curl adds these two by itself unless told not to. Waiting for a 100 Continue would cost a
        // round trip, or a second with a server that sends none.
        list.append("Expect:")
        list.append("Accept:")
        sluice_curl_set_list(easy, CURLOPT_HTTPHEADER, list.first)
        headers = list
    }

    /// Gives back what was carried, and lets go of its body.
    func unload() -> Load? {
        defer {
            body = OutgoingBody()
            load = nil
        }
        return load
    }

    func outcome(_ result: CURLcode) -> Outcome {
        // An answer that breaks off is none, whatever its head says: better twice than never.
        guard result == CURLE_OK else {
            var proxyStatus = 0
            sluice_curl_get_number(easy, CURLINFO_HTTP_CONNECTCODE, &proxyStatus)
            let detail = answer.refusal ?? String(cString: errorText)
            return .failed(TransportProblem(result, detail: detail, proxyStatus: proxyStatus))
        }
        var status = 0
        sluice_curl_get_number(easy, CURLINFO_RESPONSE_CODE, &status)
        return .answered(SLSAnswer(status: status, headers: answer.headers, body: answer.body))
    }

    enum Outcome {
        case answered(SLSAnswer)
        case failed(TransportProblem)
    }

    /// Lets the transfer be given up without waiting for a name server that does not answer: its
    /// lookup runs on a thread of curl's, which cannot be interrupted.
    func leaveQuickly() {
        sluice_curl_set_number(easy, CURLOPT_QUICK_EXIT, 1)
    }
}
