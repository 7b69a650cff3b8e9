import System

/// What open and closed gates mean for the demand of packets, and for the status.
extension GateKeeper {
    var queueDemand: QueueDemand {
        let isProbing =
            project.probing != nil || quota.gate.probing != nil || endpoint.gate.probing != nil
        return isProbing ? .probes : .all
    }

    /// How many packets an outlet has use for: what may be in flight, and some ahead
    /// (`PacketsAhead`), which cover the commit that seals a packet. The rest stays in the queue,
    /// where it still grows. Where several are busy, each has its part.
    func demand(of outlet: DeliveryOutlet, _ now: Moment) -> Int {
        guard queueDemand == .all, outlet.gate.probing == nil else {
            // One more than it has, up to a bound: a new packet ends the rest.
            let isResting = outlet.gate.probing?.isResting ?? false
            return isResting ? min(outlet.line.waitingCount + 1, outlet.gate.bounds.most) : 1
        }
        let limit = min(outlet.gate.limit, project.limit)
        let room = min(
            outlet.gate.room(now),
            project.room(now),
            quota.gate.room(now),
            endpoint.gate.room(now)
        )
        let part = (places.total + places.total / 2) / max(1, outlets.busyCount)
        let ahead = outlet.line.ahead.count(inFlightMax: limit)
        return min(outlet.gate.inFlight + room + ahead, max(2, part))
    }

    /// When the first of the closed gates that all outlets use opens by itself. Nil when none is
    /// closed, or when a request has to end before.
    func nextOpening(_ now: Moment) -> Moment? {
        guard let projectOpens = project.nextOpening else { return nil }
        // A gate without a time opens when a request ends, and gates behind it wait for that, too.
        let closed = [projectOpens, quota.gate.nextOpening, endpoints.nextOpening]
            .first { opening in opening.map { $0 > now } ?? true }
        // All logstores in line may have been refused themselves.
        let ofRefused = project.nextOpeningOfRefused.flatMap { $0 > now ? $0 : nil }
        return [closed ?? nil, ofRefused].compactMap(\.self).min()
    }

    /// The closed gate that keeps logs back, if there is one.
    func blockage(_ now: Moment) -> (pause: Pause?, probing: Probing)? {
        let gates = [
            (pauses.ofDestination, project.probing), (quota.pause, quota.gate.probing),
            (endpoint.pause, endpoint.gate.probing),
        ]
        for case (let pause, let probing?) in gates where keepsBack(probing, now) {
            return (pause, probing)
        }
        return nil
    }

    /// A gate whose probe is due keeps nothing back when there is nothing to send: the next log is
    /// the probe. If it counted as a pause, a gateway that reports itself as not ready would get no
    /// log, and so no probe.
    private func keepsBack(_ probing: Probing, _ now: Moment) -> Bool {
        probing.isFlying || probing.next > now || outlets.hasTurns
    }
}
