"""Words for generated names: an adjective and a noun."""

from typing import Final

__all__ = ["ADJECTIVES", "NOUNS"]

_ADJECTIVES = """
Agile Alpine Amber Ancient Arctic Ashen Autumn Azure Balmy Blue Bold Brave Breezy Bright Brisk Bronze Burnished Calm
Candid Cedar Cerulean Cheerful Chestnut Clear Clever Cloudy Coastal Cobalt Copper Coral Cosmic Cozy Crimson Crisp
Crystal Curious Dapper Daring Dawn Deep Desert Dewy Distant Dusky Eager Early Eastern Ebony Elder Emerald Endless
Fabled Faithful Fearless Feathered Fiery Floral Fond Forest Frosty Gallant Gentle Gilded Glad Gleaming Golden
Graceful Grand Granite Green Happy Hardy Hazel Hidden High Honest Humble Icy Indigo Inland Ivory Jade Jolly Jovial
Keen Kind Lavender Leafy Light Lively Lofty Loyal Lucid Lucky Lunar Magenta Maple Marble Maroon Mellow Merry Mighty
Misty Modest Mossy Nimble Noble Northern Olive Onyx Opal Orange Orchid Patient Pearl Placid Plucky Polar Polished
Proud Purple Quick Quiet Radiant Rapid Red Regal Roaming Rosy Royal Ruby Rustic Rusty Sable Saffron Sandy Sapphire
Scarlet Serene Shady Sharp Shiny Silent Silver Sincere Sleek Smooth Snowy Solar Southern Spry Stately Steady Stellar
Still Stony Stout Sturdy Summer Sunny Swift Teal Tidal Tidy Topaz Tranquil Trusty Turquoise Valiant Velvet Verdant
Vernal Violet Vivid Warm Western White Wild Windy Winter Wise Witty Wooden Young Zesty
"""

_NOUNS = """
Abbey Acorn Anchor Arch Aspen Aurora Badger Bay Beach Beacon Bear Beaver Birch Bison Bloom Boulder Branch Bridge
Brook Cabin Canoe Canyon Cape Castle Cavern Cliff Cloud Clover Comet Compass Cottage Cove Crane Crater Creek Crest
Cricket Crow Cypress Dale Deer Delta Dolphin Dove Dune Eagle Elk Elm Falcon Fern Field Finch Fir Fjord Forge
Fountain Fox Garden Gate Geyser Glacier Glade Glen Grove Gull Harbor Hare Hawk Heath Hedge Heron Hill Hollow Horizon
Ibis Inlet Island Isle Ivy Jaguar Jay Juniper Kestrel Lagoon Lake Lantern Larch Lark Laurel Ledge Lighthouse Lily
Linden Lion Lodge Lotus Lynx Magnolia Marsh Meadow Mesa Mill Moon Moose Mountain Oak Oasis Ocean Orchard Osprey
Otter Owl Palm Panther Pass Path Peak Pebble Pelican Pier Pine Plain Planet Plateau Plover Pond Poplar Prairie
Puffin Quail Quarry Rain Rampart Ranch Raven Reef Ridge River Robin Rock Rook Rose Sail Salmon Seal Shore Sky Snow
Sparrow Spire Spring Spruce Squirrel Star Stone Stork Storm Stream Summit Sun Swallow Swan Temple Thicket Thistle
Thrush Tide Tiger Tower Trail Tree Tulip Tundra Turtle Vale Valley Village Vine Walnut Wave Whale Willow Wind Wolf
Wren Yew
"""

ADJECTIVES: Final = tuple(_ADJECTIVES.split())
NOUNS: Final = tuple(_NOUNS.split())
