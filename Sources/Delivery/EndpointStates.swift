/// The endpoints of all destinations. Those with the same endpoint and proxy share one state.
final class EndpointStates {
    private var byKey: [EndpointKey: EndpointState] = [:]

    /// For one more destination with so many places.
    func endpoint(for key: EndpointKey, places: Int, waits: Backoff) -> EndpointState {
        let endpoint = byKey[key] ?? EndpointState(key, waits: waits)
        byKey[key] = endpoint
        endpoint.join(places: places)
        return endpoint
    }

    /// A destination uses other endpoints from now on. Requests in flight keep their endpoint until they end.
    func release(_ endpoints: DestinationEndpoints, places: Int) {
        for endpoint in endpoints.endpoints {
            endpoint.leave(places: places)
            if endpoint.users == 0 { byKey[endpoint.key] = nil }
        }
    }
}
