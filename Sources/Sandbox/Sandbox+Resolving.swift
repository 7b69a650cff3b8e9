import JSON
import Net
import System

extension Sandbox {
    func resolve(
        _ call: ResolverCall,
        _ accounts: ResolverAccounts,
        _ request: ReceivedRequest
    ) -> Answer {
        let visit = begin(.resolver(call.service), bodyBytes: request.body.count)
        return answer(visit) { () throws(SLSRefusal) in
            var zone = state.withLock { state in
                state.statistics.countResolved(call.service.rawValue)
                return state.zone
            }
            if case .addresses(let addresses) = visit.mishap.answer { zone.replacement = addresses }
            return try call.answer(
                SandboxResolver(accounts: accounts, zone: zone, now: visit.now, request: request)
            )
        }
    }

    // MARK: - Control requests

    func listNames() -> Answer {
        let zone = state.withLock { $0.zone }
        return .json { json in
            json.objects("names", zone.records.sorted(by: { $0.key < $1.key })) { json, each in
                let (host, record) = each
                json.member("host", host)
                json.addresses("addresses", record.v4 + record.v6)
                json.member("ttl", record.seconds)
            }
        }
    }

    func setName(_ request: ReceivedRequest) throws(SLSRefusal) -> Answer {
        var fields = try ControlFields(request.body)
        guard let host = try fields.text("host"), ResolverZone.isHost(host) else {
            throw .badParameter("host is missing, or not the name of a host.")
        }
        guard let addresses = try fields.addresses("addresses") else {
            throw .badParameter("addresses is missing; [] means that the host does not exist.")
        }
        let seconds = try fields.integer("ttl", in: 0...2_147_483_647) ?? 60
        try fields.refuseUnknown()
        let record = ResolverZone.Record(addresses, seconds: seconds)
        guard state.withLock({ $0.zone.set(host, record) }) else {
            throw .badParameter("\(ResolverZone.namesMax) names are set: remove them first.")
        }
        return .json { $0.member("host", host) }
    }

    func removeNames() -> Answer {
        let count = state.withLock { $0.zone.removeAll() }
        return .json { $0.member("removed", count) }
    }
}
