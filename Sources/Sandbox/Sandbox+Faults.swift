import System

extension Sandbox {
    func listFaults() -> Answer {
        let objects = state.withLock { $0.faults.entries }.map { entry in
            var object = JSONObject()
            object.add("id", entry.id)
            object.add("hits", entry.hits)
            entry.fault.append(to: &object)
            return object
        }
        var object = JSONObject()
        object.add("faults", objects)
        return .json(object.finished)
    }

    func addFault(_ body: UnsafeRawBufferPointer) throws(SLSRefusal) -> Answer {
        var fields = try ControlFields(body)
        let fault = try Fault(&fields)
        guard let id = state.withLock({ $0.faults.add(fault) }) else {
            throw .badParameter(
                "\(configuration.limits.faultsMax) faults are active: remove some first."
            )
        }
        var object = JSONObject()
        object.add("id", id)
        return .json(object.finished)
    }

    func removeFaults(_ id: Int?) throws(SLSRefusal) -> Answer {
        let removed = state.withLock { $0.faults.remove(id) }
        if let id, removed.isEmpty {
            throw SLSRefusal(404, "ParameterInvalid", "There is no fault \(id).")
        }
        removed.forEach(late.release(fault:))
        var object = JSONObject()
        object.add("removed", removed.count)
        return .json(object.finished)
    }
}
