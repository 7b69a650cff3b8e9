import HTTPClient
import Logs
import Queue
import SLS
import System

extension DestinationSender {
    /// Starts the next request, if there is one that may go; tells whether it did anything. Outlets take
    /// turns, and each sends its oldest packet. Where a gate that others share is in the way, waits for it.
    func sendNext(_ now: Moment, _ loop: TransferLoop) -> Bool {
        guard !isHeld, turns.count > 0, places.free(within: project.limit) > 0,
            project.permits(now)
        else { return false }
        guard quota.gate.permits(now) else {
            quota.waiters.add(self)
            return false
        }
        let endpoint = endpoints.next(now)
        guard endpoint.gate.permits(now) || endpoint.hearsWitnesses else {
            for endpoint in endpoints.endpoints { endpoint.waiters.add(self) }
            return false
        }
        guard let credential = credential(now) else { return false }
        let permitsRefused = project.nextOpeningOfRefused.map { $0 <= now } ?? false
        for _ in 0..<turns.count {
            // While the destination tries one request at a time, a logstore that was not refused itself goes first.
            let untried = project.probing == nil ? nil : turns.next(probes: false)
            let admitsProbes = places.admitProbes && permitsRefused
            guard let outlet = untried ?? turns.next(probes: admitsProbes) else { return false }
            guard outlet.gate.permits(now) else {
                // Without a time, the end of a request opens it.
                if let opening = outlet.gate.nextOpening { turns.sleep(outlet, until: opening) }
                continue
            }
            let hasPlace = places.admits(
                holding: outlet.gate.inFlight,
                isProbe: outlet.gate.probing != nil,
                within: project.limit
            )
            let isAdmitted = endpoint.admits(outlet, now)
            if hasPlace, isAdmitted, let lease = outlet.leases.upcoming {
                guard hasMemory(for: lease) else {
                    // It stays the first in line, or smaller packets would take for ever what it waits for.
                    turns.putBack(outlet)
                    memory.waits(self)
                    return false
                }
                _ = outlet.leases.next()
                send(lease, of: outlet, endpoint, credential, now, loop)
                turns.enlist(outlet)
                return true
            }
            if !isAdmitted { for endpoint in endpoints.endpoints { endpoint.waiters.add(self) } }
            turns.enlist(outlet)
        }
        return false
    }

    /// Tells if there is room for the body of a request.
    private func hasMemory(for lease: Lease) -> Bool {
        // Blocks that are here are joined as they are; else it is known only how large they may be at most.
        let isKnown = settings.compression == .lz4 && lease.contentBytes > 0
        let bytes = isKnown ? lease.contentBytes : lease.packet.rawBytes
        let hasRoom = memory.admitsBody(
            bytes + lease.packet.stream.trailer.bytes.count,
            holding: bodyBytes
        )
        if !hasRoom, !waitsForMemory { status.withLock { $0.memoryWaits += 1 } }
        waitsForMemory = !hasRoom
        return hasRoom
    }

    private func send(
        _ next: Lease,
        of outlet: DeliveryOutlet,
        _ endpoint: EndpointState,
        _ credential: Credential,
        _ now: Moment,
        _ loop: TransferLoop
    ) {
        var lease = next
        touch(outlet)
        letGo(content: lease.contentBytes)
        let signed = surroundings.now()
        let dated = endpoint.clock.time(at: signed, assuming: settings.clockOffset)
        let signature = Signature(
            endpoint: endpoint.key.endpoint,
            credential: credential,
            time: dated
        )
        guard let request = request(for: lease, of: outlet, signature, now) else { return }
        // The body is built: the blocks it was made of need no memory any more.
        lease.dropContent()
        lease.unread = 0
        let bytes = lease.packet.rawBytes
        places.take(isProbe: outlet.gate.probing != nil)
        let load = Load(
            lease: lease,
            credential: credential,
            outlet: outlet,
            endpoint: endpoint,
            quota: quota,
            passes: Load.Passes(
                endpoint: endpoint.gate.enter(now, bytes: bytes),
                quota: quota.gate.enter(now, bytes: bytes),
                project: project.enter(now, bytes: bytes),
                logstore: outlet.gate.enter(now, bytes: bytes)
            ),
            generation: generation,
            started: now,
            signed: signed,
            dated: dated
        )
        if lease.firstFailure != nil { status.withLock { $0.retries += 1 } }
        endpoints.started(endpoint, now)
        let transfer =
            idle.popLast()
            ?? Transfer(TransferOptions(settings, connectionsSince: connectionsSince))
        transfer.prepare(TransferRequest(request, within: settings))
        keep(body: request.body.count)
        flying[ObjectIdentifier(transfer)] = transfer
        loop.start(transfer) { [self] in finish($0, load, $1) }
    }

    /// For whom, by whom and when a request is signed.
    private struct Signature {
        let endpoint: Endpoint
        let credential: Credential
        let time: WallTime
    }

    /// The packet's request; nil when there is none, and the lease is settled already.
    private func request(
        for lease: Lease,
        of outlet: DeliveryOutlet,
        _ signature: Signature,
        _ now: Moment
    ) -> SLSOutput.Request? {
        let blocks: [StoredBlock]
        do throws(QueueError) {
            // Asked for also when it is here: the queue may want it back.
            blocks = try surroundings.source.blocks(of: lease.packet)
        } catch {
            switch error.kind {
            case .corrupt: voided(outlet, error.description)
            case .withdrawn: ended(outlet)
            default: unread(lease, of: outlet, error.description, now)
            }
            return nil
        }
        do throws(SLSOutput.Unsendable) {
            return try output.request(
                for: lease.packet,
                blocks,
                to: signature.endpoint,
                by: signature.credential,
                at: signature.time
            )
        } catch {
            if error.isDamage, lease.packet.recent != nil {
                // What is on the disk may be right; if not, the queue finds that out.
                outlet.leases.failed(lease)
            } else {
                isolate(
                    lease,
                    of: outlet,
                    DeathReason(code: "PacketUnsendable", message: error.reason)
                )
            }
            return nil
        }
    }
}
