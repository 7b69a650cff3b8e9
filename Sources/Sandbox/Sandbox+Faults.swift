import JSON
import System

extension Sandbox {
    func listFaults() -> Answer {
        let entries = state.withLock { $0.faults.entries }
        return .json { json in
            json.objects("faults", entries) { json, entry in
                json.member("id", entry.id)
                json.member("hits", entry.hits)
                entry.fault.write(to: &json)
            }
        }
    }

    func addFault(_ body: UnsafeRawBufferPointer) throws(SLSRefusal) -> Answer {
        var fields = try ControlFields(body)
        let fault = try Fault(&fields)
        guard let id = state.withLock({ $0.faults.add(fault) }) else {
            throw .badParameter(
                "\(configuration.capacity.faultsMax) faults are active: remove some first."
            )
        }
        return .json { $0.member("id", id) }
    }

    func removeFaults(_ id: Int?) throws(SLSRefusal) -> Answer {
        let removed = state.withLock { $0.faults.remove(id) }
        if let id, removed.isEmpty {
            throw SLSRefusal(404, "ParameterInvalid", "There is no fault \(id).")
        }
        removed.forEach(late.release(fault:))
        return .json { $0.member("removed", removed.count) }
    }
}
