package import Queue
import System

extension DurableQueue: PacketSource {
    package func deliver(to receiver: @escaping @Sendable ([SealedPacket]) -> Void) {
        door.post(.deliver(receiver))
    }

    package func announceOutlets(to receiver: @escaping @Sendable ([Outlet]) -> Void) {
        door.post(.announce(receiver))
    }

    package func retireOutlets(to receiver: @escaping @Sendable ([Outlet]) -> Void) {
        door.post(.retire(receiver))
    }

    package func recallPackets(
        to receiver: @escaping @Sendable ([Outlet: Set<PacketID>]) -> Void
    ) {
        door.post(.recall(receiver))
    }

    package func request(_ count: Int, for outlet: Outlet) {
        door.post(.request(count, outlet))
    }

    package func blocks(of packet: SealedPacket) throws(QueueError) -> [StoredBlock] {
        let number = door.number(of: packet)
        if door.recalls.contains(number) || door.goesElsewhere(packet.stream) {
            door.post(.ended(number, .recalled))
            throw QueueError(.withdrawn, "\(packet.id) is taken back by the queue.")
        }
        if let recent = packet.recent { return recent }
        do throws(QueueError) {
            return try door.reader.withLock { reader throws(QueueError) in
                try reader.blocks(of: packet)
            }
        } catch {
            if error.kind == .corrupt { door.post(.unreadable(number)) }
            throw error
        }
    }

    package func end(_ packet: SealedPacket, _ end: PacketEnd) {
        door.post(.ended(door.number(of: packet), end))
    }

    package func setAside(_ packet: SealedPacket) {
        door.post(.setAside(door.number(of: packet)))
    }

    package func flush(_ destination: String) {
        door.post(.flush(destination))
    }
}
