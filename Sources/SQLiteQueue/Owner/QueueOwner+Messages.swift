import System

extension QueueOwner {
    /// Whether there were any.
    func takeMessages() -> Bool {
        let messages = door.mailbox.takeAll()
        for message in messages {
            switch message {
            case .append(let append): appends.append(append)
            case .deliver(let receiver): self.receiver = receiver
            case .acknowledge(let number): acknowledged.append(number)
            case .unreadable(let number):
                if isGivenBack(number) { unreadable.insert(number) }
            case .recalled(let number):
                if isGivenBack(number) { recalled.insert(number) }
            case .flush(let name): flushes.append(name)
            case .apply(let rules, let bounds): apply(rules, bounds)
            case .announce(let receiver): announceAll(to: receiver)
            case .retire(let receiver): retiredReceiver = receiver
            case .recall(let receiver): recallReceiver = receiver
            case .request(let count, let outlet): request(count, for: outlet)
            case .isolate(let number, let reason):
                if isGivenBack(number) { departures.isolate(number, because: reason) }
            case .discard(let number, let reason):
                if isGivenBack(number) { departures.discards.append((number, reason)) }
            case .letters(let request): take(request)
            case .decision(let request): take(request)
            case .list(let question): take(question)
            case .relane(let number): noteRelane(number)
            case .setAside(let number): store?.setAside(number)
            case .postpone(let number): postpone(number)
            case .stop: isStopping = true
            }
        }
        return !messages.isEmpty
    }

    /// Delivery gives a packet back without an acknowledgement. False when it does not hold it: told twice, a packet must
    /// not be handed over twice.
    func isGivenBack(_ number: Int64) -> Bool {
        takenApart[number] = nil
        return handed[number] != nil
    }
}
