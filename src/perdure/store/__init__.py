"""The stores: one package per engine, each implementing the interface that `perdure.registry` declares."""
