import Queue
import System

extension DestinationSender {
    /// The queue has logs for this logstore.
    func announced(_ name: Outlet) {
        let outlet = outlet(name)
        outlet.isRetired = false
        outlet.leases.forgetRequests()
        touch(outlet)
    }

    /// The queue has forgotten this logstore, and what it was asked for.
    func retired(_ name: Outlet) {
        guard let outlet = outlets[name.logstore] else { return }
        outlet.isRetired = true
        outlet.leases.forgetRequests()
        touch(outlet)
    }

    func take(_ packet: SealedPacket) {
        let outlet = outlet(packet.stream.outlet)
        var lease = Lease(packet)
        if !keepsContent(lease.contentBytes) { lease.dropContent() }
        leased += 1
        outlet.leases.arrived(lease)
        turns.enlist(outlet)
        touch(outlet)
    }

    private func outlet(_ name: Outlet) -> DeliveryOutlet {
        if let known = outlets[name.logstore] { return known }
        let new = DeliveryOutlet(name, settings.bounds(most: settings.concurrency))
        outlets[name.logstore] = new
        return new
    }

    /// Something happened to the outlet: it is told at the end of the turn.
    func touch(_ outlet: DeliveryOutlet) {
        agenda.note(self)
        guard !outlet.isTouched else { return }
        outlet.isTouched = true
        touched.append(outlet)
    }

    /// Asks the queue for what the outlet could send, and shows its state.
    func settle(_ outlet: DeliveryOutlet, _ now: Moment) {
        outlet.isTouched = false
        if outlet.isBusy == outlet.leases.isEmpty {
            outlet.isBusy.toggle()
            busyCount += outlet.isBusy ? 1 : -1
        }
        if outlet.isRetired {
            guard outlet.leases.isEmpty else { return show(outlet, now) }
            outlets[outlet.name.logstore] = nil
            for endpoint in endpoints.endpoints { endpoint.forget(outlet.name) }
            status.withLock { _ = $0.byLogstore.removeValue(forKey: outlet.name.logstore) }
            return
        }
        let count = outlet.leases.demand(upTo: wanted(by: outlet, now))
        if count > 0 { surroundings.source.request(count, for: outlet.name) }
        show(outlet, now)
    }

    /// How many packets an outlet has use for: what may be in flight, and a quarter ahead, which covers
    /// the commit that seals a packet. The rest stays in the queue, where it still grows. Where several
    /// are busy, each has its part.
    private func wanted(by outlet: DeliveryOutlet, _ now: Moment) -> Int {
        switch appetite {
        case .nothing: return 0
        case .probes: return 1
        case .all: break
        }
        // One that can be the probe.
        guard outlet.gate.probing == nil else { return 1 }
        let limit = min(outlet.gate.limit, project.limit)
        let room = min(
            outlet.gate.room(now),
            project.room(now),
            quota.gate.room(now),
            endpoint.gate.room(now)
        )
        let part = (places.total + places.total / 4) / max(1, busyCount)
        return min(outlet.gate.inFlight + room + max(1, limit / 4), max(2, part))
    }
}
