/// The regions of all destinations: who goes the same way shares one.
final class EndpointStates {
    let quotas = ProjectQuotas()
    let agenda = DeliveryAgenda()
    let refusals = CredentialRefusals()
    let memory: DeliveryMemory
    private var byWay: [EndpointKey: EndpointState] = [:]

    init(memoryMax: Int = DeliveryMemory.usualMax) {
        memory = DeliveryMemory(max: memoryMax)
    }

    /// For one more destination with so many places.
    func region(for way: EndpointKey, places: Int, waits: Backoff) -> EndpointState {
        let region = byWay[way] ?? EndpointState(way, waits: waits)
        byWay[way] = region
        region.join(places: places)
        return region
    }

    /// A destination goes other ways from now on. What is in flight keeps its region until it ends.
    func release(_ ways: DestinationEndpoints, places: Int) {
        for region in ways.regions {
            region.leave(places: places)
            if region.users == 0 { byWay[region.way] = nil }
        }
    }
}
