import JSON
import System

/// Field names that make the sandbox refuse a log and, as SLS does, its whole request.
struct Poisons: Sendable {
    private(set) var refusals: [(key: [UInt8], refusal: SLSRefusal)] = []
    let capacity: Int

    mutating func set(_ key: String, _ refusal: SLSRefusal) -> Bool {
        let bytes = Array(key.utf8)
        refusals.removeAll { $0.key == bytes }
        guard refusals.count < capacity else { return false }
        refusals.append((bytes, refusal))
        return true
    }

    mutating func removeAll() { refusals = [] }

    func check(_ key: UnsafeRawBufferPointer) throws(SLSRefusal) {
        for (poison, refusal) in refusals where key.elementsEqual(poison) { throw refusal }
    }
}

extension Sandbox {
    func listPoisons() -> Answer {
        let refusals = state.withLock { $0.poisons.refusals }
        return .json { json in
            json.objects("poisons", refusals) { json, each in
                let (key, refusal) = each
                json.member("key", String(decoding: key, as: UTF8.self))
                json.member("status", refusal.status)
                json.member("code", refusal.code)
                json.member("message", refusal.message)
            }
        }
    }

    func setPoison(_ request: ReceivedRequest) throws(SLSRefusal) -> Answer {
        var fields = try ControlFields(request.body)
        let key = try fields.text("key")
        let code = try fields.text("code") ?? "PostBodyInvalid"
        let status = try fields.integer("status", in: 400...499)
        let message = try fields.text("message", bytesMax: 4096)
        try fields.refuseUnknown()
        guard let key else { throw .badParameter("key is missing: a field's name.") }
        guard let status = status ?? KnownCode.statuses[code] else {
            throw .badParameter("The code \(code) needs a status.")
        }
        let words = message ?? "A log has the field \(key), which the sandbox was asked to refuse."
        let isSet = state.withLock { $0.poisons.set(key, SLSRefusal(status, code, words)) }
        guard isSet else {
            let most = configuration.capacity.poisonsMax
            throw .badParameter("\(most) poisons are set: remove them first.")
        }
        return listPoisons()
    }

    func removePoisons() -> Answer {
        state.withLock { $0.poisons.removeAll() }
        return listPoisons()
    }
}
