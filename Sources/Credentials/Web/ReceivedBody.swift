import CCurl
import SLS
import System

/// What has come of an answer. A server may send what it likes: memory is bounded.
final class ReceivedBody {
    static let bodyBytesMax = 64 << 10
    static let headBytesMax = 64 << 10

    let body: WipedBytes
    private let isWanted: Bool
    private(set) var date: WallTime?
    private(set) var isTooLarge = false
    /// Whether there is one that nobody wants.
    private(set) var isLeftOut = false
    private var headBytes = 0

    init(isWanted: Bool = true) {
        self.isWanted = isWanted
        body = WipedBytes(countMax: isWanted ? Self.bodyBytesMax : 0)
    }

    /// It must outlive the transfer.
    func attach(to easy: UnsafeMutableRawPointer) {
        let place = Unmanaged.passUnretained(self).toOpaque()
        sluice_curl_set_pointer(easy, CURLOPT_WRITEDATA, place)
        sluice_curl_set_pointer(easy, CURLOPT_HEADERDATA, place)
        sluice_curl_set_receiver(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, place in
            ReceivedBody.at(place).take(body: .init(start: bytes, count: size * count))
        }
        sluice_curl_set_receiver(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, place in
            ReceivedBody.at(place).take(line: .init(start: bytes, count: size * count))
        }
    }

    private static func at(_ place: UnsafeMutableRawPointer?) -> ReceivedBody {
        guard let place else { preconditionFailure("set before the transfer") }
        return Unmanaged<ReceivedBody>.fromOpaque(place).takeUnretainedValue()
    }

    private func take(body piece: UnsafeRawBufferPointer) -> Int {
        guard isWanted else {
            isLeftOut = true
            return 0
        }
        guard body.append(piece) else { return refuse() }
        return piece.count
    }

    private func take(line: UnsafeRawBufferPointer) -> Int {
        headBytes += line.count
        guard headBytes <= Self.headBytesMax else { return refuse() }
        let text = String(decoding: line, as: UTF8.self)
        if text.lowercased().hasPrefix("date:") {
            let value = text.dropFirst(5).filter { $0 != "\r\n" && $0 != "\n" && $0 != "\r" }
            date = WallTime(httpDate: String(value.drop { $0 == " " }))
        }
        return line.count
    }

    /// curl ends the transfer when not all is taken.
    private func refuse() -> Int {
        isTooLarge = true
        return 0
    }
}
