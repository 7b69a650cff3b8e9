import Queue

extension OpenStore {
    /// Counts what came, or with negative numbers left, in the bounds of the queue and of the destination.
    /// Whatever has a row of its own weighs its payload and `RowRecord.overhead`.
    func weigh(_ destination: QueuedDestination, bytes more: Int, rows moreRows: Int = 0) {
        bytes += more
        rows += moreRows
        destination.bytes += more
    }

    /// Waiting rows came, or left because they expired: these an overflow could drop.
    func weighWaiting(_ destination: QueuedDestination, bytes more: Int, rows moreRows: Int) {
        weigh(destination, bytes: more, rows: moreRows)
        changeWaiting(destination, by: more)
    }

    func changeWaiting(_ destination: QueuedDestination, by more: Int) {
        destination.waitingBytes += more
        if destination.rules.overflow == .dropOldest { droppableBytes += more }
    }

    /// Bytes by which logs may grow by dying: a little more than the bounds, since what dies leaves the queue for
    /// it. Where the oldest logs make room they do so here too, and nothing exceeds the bound.
    func roomForDeaths(of destination: QueuedDestination) -> Int {
        guard destination.rules.overflow == .reject else {
            let all = configuration.bytesMax - bytes + droppableBytes
            let most = destination.rules.bytesMax ?? .max
            return min(all, most - (destination.bytes - destination.waitingBytes))
        }
        func room(_ most: Int, _ bytes: Int) -> Int { most - bytes + most / 8 }
        let all = room(configuration.bytesMax, bytes)
        return min(all, destination.rules.bytesMax.map { room($0, destination.bytes) } ?? all)
    }

    func wake(_ stream: QueuedStream, by maker: StreamShares.Maker) {
        guard !stream.isBusy else { return }
        stream.isBusy = true
        stream.maker = maker
        shares.take(stream.outlet.name.destination, maker)
        busyStreams += 1
        let outlet = stream.outlet
        outlet.busyStreams += 1
        if outlet.busyStreams == 1 {
            outlet.destination.change(of: .busy(outlet.name.logstore))
        }
        weigh(stream.destination, bytes: stream.cost)
    }

    func sleep(_ stream: QueuedStream) {
        guard stream.isBusy else { return }
        stream.isBusy = false
        shares.giveBack(stream.outlet.name.destination, stream.maker)
        busyStreams -= 1
        let outlet = stream.outlet
        outlet.busyStreams -= 1
        if outlet.busyStreams == 0 {
            outlet.destination.change(of: .quiet(outlet.name.logstore))
        }
        weigh(stream.destination, bytes: -stream.cost)
    }
}
